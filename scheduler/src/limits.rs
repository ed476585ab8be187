//! The limits of cgroups (cpu.max) in `scx_steer status`. Under sched_ext the scheduler enforces them,
//! and the kernel's `cpu.stat` does not count them.

use std::{collections::HashMap, fmt::Write};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use steer_bpf::{Limit, Scheduler};

use crate::cgroups;

/// What is limited, and what is not that should be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LimitsStatus {
    /// The cgroups with a limit.
    pub(crate) cgroups: Vec<LimitStatus>,
    /// Cgroups beyond the size of the scheduler's table: their own weights and limits do not hold.
    pub(crate) lost: u64,
}

/// One cgroup with a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LimitStatus {
    /// Its path below the cgroup2 mount; its number where the path is not known.
    cgroup: String,
    /// CPU time per period, in microseconds, as in `cpu.max`.
    quota_us: u64,
    period_us: u64,
    /// How often its threads had to wait for a new period since the scheduler was loaded.
    throttled: u64,
    /// For how long in all, in seconds.
    throttled_s: f64,
}

impl LimitsStatus {
    /// Asks the scheduler, and looks up the names of the cgroups.
    pub(crate) fn now(scheduler: &Scheduler<'_>) -> Result<Self> {
        let limits = scheduler.limits()?;
        let names = if limits.is_empty() { HashMap::new() } else { names() };
        let cgroups = limits.iter().map(|limit| LimitStatus::new(limit, &names)).collect();
        Ok(Self { cgroups, lost: scheduler.lost_cgroups() })
    }

    pub(crate) fn write(&self, out: &mut String) -> Result<()> {
        for LimitStatus { cgroup, quota_us, period_us, throttled, throttled_s } in &self.cgroups {
            writeln!(
                out,
                "limit: {cgroup} may use {quota_us} of {period_us} us; waited {throttled} times, \
                 {throttled_s:.1} s in all"
            )?;
        }
        if self.lost > 0 {
            writeln!(out, "LIMITS AND WEIGHTS OF {} CGROUPS DO NOT HOLD: too many", self.lost)?;
        }
        Ok(())
    }
}

impl LimitStatus {
    fn new(limit: &Limit, names: &HashMap<u64, String>) -> Self {
        Self {
            cgroup: names.get(&limit.cgroup).cloned().unwrap_or(limit.cgroup.to_string()),
            quota_us: limit.quota_ns / 1000,
            period_us: limit.period_ns / 1000,
            throttled: limit.throttled_times,
            throttled_s: limit.throttled_ns as f64 / 1e9,
        }
    }
}

/// The paths of all cgroups by id. Empty where cgroup2 is not mounted.
fn names() -> HashMap<u64, String> {
    let tree = cgroups::mount_point().and_then(|root| cgroups::walk(&root));
    let cgroups = tree.iter().flat_map(|tree| tree.cgroups());
    cgroups.map(|cgroup| (cgroup.id, cgroup.path.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_said_and_so_are_lost_cgroups() {
        let limit = Limit {
            cgroup: 7,
            quota_ns: 20_000_000,
            period_ns: 100_000_000,
            throttled_times: 31,
            throttled_ns: 2_480_000_000,
        };
        let named = HashMap::from([(7, "web.slice".to_owned())]);
        let cgroups = vec![
            LimitStatus::new(&limit, &named),
            LimitStatus::new(&Limit { cgroup: 8, ..limit }, &named),
        ];
        let mut out = String::new();
        LimitsStatus { cgroups, lost: 2 }.write(&mut out).unwrap();
        assert_eq!(
            out,
            "limit: web.slice may use 20000 of 100000 us; waited 31 times, 2.5 s in all\n\
             limit: 8 may use 20000 of 100000 us; waited 31 times, 2.5 s in all\n\
             LIMITS AND WEIGHTS OF 2 CGROUPS DO NOT HOLD: too many\n"
        );
    }
}
