//! The decision counters, summed over the CPUs.

use anyhow::{Result, anyhow};
use libbpf_rs::{MapCore, MapFlags};

use crate::intf;

/// One sum per `steer_counter`, since attach.
pub type Counters = [u64; intf::steer_counter_NR_COUNTERS as usize];

/// Reads and sums the per-CPU counter map.
pub(crate) fn read(map: &impl MapCore) -> Result<Counters> {
    let mut sums = [0; intf::steer_counter_NR_COUNTERS as usize];
    for (key, sum) in (0u32..).zip(&mut sums) {
        let per_cpu = map
            .lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY)?
            .ok_or_else(|| anyhow!("decision counter {key} is not in the map"))?;
        *sum = per_cpu
            .iter()
            .filter_map(|value| value.as_slice().try_into().ok())
            .map(u64::from_ne_bytes)
            .sum();
    }
    Ok(sums)
}
