//! What `steer-bench cpu --json` prints, version 1. Seconds end in `_s`, shares go from 0 to 1,
//! what is unknown is null.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::breakdown::Breakdown;
use super::counters::{Counted, Unavailable};
use super::network::Network;
use super::usage::CpuTime;

/// What the CPUs did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CpuReport {
    /// Format of this object.
    pub(crate) version: u32,
    /// Seconds that were measured; shorter than asked for when a signal ended it.
    pub(crate) duration_s: f64,
    /// Release of the kernel.
    pub(crate) kernel: String,
    /// The measured CPUs, as a list like `0-1,4`.
    pub(crate) cpus: String,
    /// CPU time, from the kernel's accounting.
    pub(crate) usage: Usage,
    /// Events counted.
    pub(crate) counters: CountersReport,
    /// The busy time by category, from samples; null when there was none.
    pub(crate) breakdown: Option<Breakdown>,
    /// Interrupts and ACKs, on all CPUs; absent where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<Network>,
    /// Reasons to doubt a figure, and what to do about them.
    pub(crate) warnings: Vec<String>,
}

/// CPU time by what it was spent on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Usage {
    /// CPUs in use on average: busy seconds (user, system, softirq, irq) per second, over the
    /// measured CPUs. The denominator of throughput per core (host-network-stack paper, section
    /// 2.2: total throughput over total CPU utilization).
    pub(crate) cpus_used: f64,
    /// All measured CPUs together.
    pub(crate) total: CpuTime,
    /// By CPU.
    pub(crate) by_cpu: BTreeMap<usize, CpuTime>,
}

/// Events counted, by event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CountersReport {
    /// On the measured CPUs, whatever ran.
    pub(crate) machine: Counted,
    /// While threads of the cgroup ran on them; null without --cgroup. `cpu_time_ns` is how long
    /// they did, with the interrupts that fell into it; to the root cgroup idle CPUs belong too.
    pub(crate) cgroup: Option<Counted>,
    /// Events that could not be counted, with the reason.
    pub(crate) unavailable: Unavailable,
}

impl CpuReport {
    /// The format this program writes.
    pub(crate) const VERSION: u32 = 1;
}

impl Usage {
    /// The sums over CPUs that were measured for `duration_s`.
    pub(crate) fn new(by_cpu: BTreeMap<usize, CpuTime>, duration_s: f64) -> Self {
        let total: CpuTime = by_cpu.values().copied().sum();
        Self { cpus_used: total.busy_s() / duration_s, total, by_cpu }
    }
}
