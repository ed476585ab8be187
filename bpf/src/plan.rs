//! The machine as the BPF objects see it, and how it is handed to them.

use anyhow::{Context, Result};
use libbpf_rs::{MapCore, MapFlags};

use crate::intf::{self, cpu_plan};

/// Where each CPU is, and which network devices are NICs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Indexed by CPU number; numbers that do not exist are zeroed. At most `MAX_CPUS`.
    pub cpus: Vec<cpu_plan>,
    /// Number of last-level caches, one more than the largest `cpu_plan.llc`. At most `MAX_LLCS`.
    pub nr_llcs: u32,
    /// (ifindex, index of the NIC in the plan); the index is below `MAX_NICS`.
    pub nics: Vec<(u32, u32)>,
}

impl Plan {
    /// Fills the per-CPU table of a skeleton.
    pub(crate) fn fill_cpus<T: Copy>(&self, table: &mut [T]) {
        for (to, from) in table.iter_mut().zip(&self.cpus) {
            intf::copy_to_skeleton(from, to);
        }
    }

    /// Makes `map` (ifindex → NIC) say what this plan says, and nothing else.
    pub(crate) fn fill_nics(&self, map: &impl MapCore) -> Result<()> {
        for key in map.keys() {
            let ifindex = key.as_slice().try_into().map(u32::from_ne_bytes).ok();
            if !self.nics.iter().any(|(i, _)| Some(*i) == ifindex) {
                map.delete(&key).context("removing a network device from the NIC table")?;
            }
        }
        for (ifindex, nic) in &self.nics {
            map.update(&ifindex.to_ne_bytes(), &nic.to_ne_bytes(), MapFlags::ANY)
                .with_context(|| format!("entering device {ifindex} into the NIC table"))?;
        }
        Ok(())
    }
}
