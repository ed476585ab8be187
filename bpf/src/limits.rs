//! The cgroups whose CPU time is limited (cpu.max), as the scheduler enforces it.

use anyhow::Result;
use libbpf_rs::{MapCore, MapFlags};

use crate::intf::{group, limits_MAX_GROUPS};

/// One cgroup with a limit, and how often it was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Id of the cgroup: the inode of its folder.
    pub cgroup: u64,
    /// CPU time per period, in ns.
    pub quota_ns: u64,
    /// Length of a period, in ns.
    pub period_ns: u64,
    /// How often its threads had to wait for a new period.
    pub throttled_times: u64,
    /// For how long in all, in ns. The wait that goes on just now is not in it.
    pub throttled_ns: u64,
}

/// Reads the table of cgroups.
pub(crate) fn read(groups: &impl MapCore) -> Result<Vec<Limit>> {
    let mut limits = Vec::new();
    for number in 1..limits_MAX_GROUPS {
        let Some(bytes) = groups.lookup(&number.to_ne_bytes(), MapFlags::ANY)? else { continue };
        anyhow::ensure!(bytes.len() == size_of::<group>(), "the table has another layout");
        // SAFETY: as long as the struct (checked). Its only writer is BPF, whose bools are 0 or 1.
        let group: group = unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) };
        // QUOTA_NONE, quota.h
        if group.id != 0 && group.quota_ns != u64::MAX {
            limits.push(Limit {
                cgroup: group.id,
                quota_ns: group.quota_ns,
                period_ns: group.period_ns,
                throttled_times: group.throttled_times,
                throttled_ns: group.throttled_sum_ns,
            });
        }
    }
    Ok(limits)
}
