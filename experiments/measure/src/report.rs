//! What `steer-bench cpu --json` prints, version 1. Names of seconds end in `_s`, shares go from 0
//! to 1, unknown values are null.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::breakdown::Breakdown;
use super::counters::{Counted, Unavailable};
use super::network::Network;
use super::usage::CpuTime;
use steer_ground::warning::Warning;

/// What the CPUs did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuReport {
    /// Format of this object.
    pub version: u32,
    /// Measured seconds; fewer than asked for when a signal ended the measurement.
    pub duration_s: f64,
    /// Release of the kernel.
    pub kernel: String,
    /// The measured CPUs, as a list like `0-1,4`.
    pub cpus: String,
    /// CPU time, from the kernel's accounting.
    pub usage: Usage,
    /// Events counted.
    pub counters: CountersReport,
    /// The busy time by category, from samples; null without a sample of busy time.
    pub breakdown: Option<Breakdown>,
    /// Interrupts and ACKs, on all CPUs; absent if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Warnings: reasons to doubt a figure, and what to do about them.
    pub warnings: Vec<Warning>,
}

/// CPU time by what it was spent on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// CPUs in use on average: busy seconds (user, system, softirq, irq) per second, over the
    /// measured CPUs. The denominator of throughput per core (host-network-stack paper, section
    /// 2.2: total throughput over total CPU utilization).
    pub cpus_used: f64,
    /// All measured CPUs together.
    pub total: CpuTime,
    /// By CPU.
    pub by_cpu: BTreeMap<usize, CpuTime>,
}

/// Events counted, by event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountersReport {
    /// Counts on the measured CPUs, whatever ran.
    pub machine: Counted,
    /// Counts while threads of the cgroup ran on these CPUs; null without --cgroup. `cpu_time_ns`
    /// is the time they ran, including interrupts in that time. The root cgroup also includes idle
    /// time.
    pub cgroup: Option<Counted>,
    /// Events that could not be counted, and the reason.
    pub unavailable: Unavailable,
}

impl CpuReport {
    /// The format this program writes.
    pub const VERSION: u32 = 1;
}

impl Usage {
    /// The sums over CPUs that were measured for `duration_s`.
    pub fn new(by_cpu: BTreeMap<usize, CpuTime>, duration_s: f64) -> Self {
        let total: CpuTime = by_cpu.values().copied().sum();
        Self { cpus_used: total.busy_s() / duration_s, total, by_cpu }
    }
}
