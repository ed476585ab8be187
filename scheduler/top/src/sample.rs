//! What `scx_steer top` shows, as plain data: one of these per line of `--json`. Unknown is `None`.

use serde::{Deserialize, Serialize};

/// The host over one interval. Shares are 0 to 1, of one CPU unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Version of the JSON form.
    pub version: u32,
    /// Length of the interval in seconds.
    pub seconds: f64,
    /// The sched_ext scheduler in force, or "default".
    pub scheduler: String,
    /// Whether scx_steer is in force and answers, so that its decisions are known.
    pub decisions: bool,
    /// The NICs.
    pub nics: Vec<NicUse>,
    /// Threads that move data, most costly first.
    pub threads: Vec<ThreadUse>,
    /// Online CPUs by number.
    pub cpus: Vec<CpuUse>,
    /// Cgroups that used CPU time, most first.
    pub cgroups: Vec<CgroupUse>,
}

/// A NIC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NicUse {
    /// Interface name.
    pub name: String,
    /// Number of its node.
    pub node: Option<u32>,
    /// The CPUs near it, such as `0-3,8`.
    pub local_cpus: Option<String>,
    /// Whether packets follow threads (`follows`, `fixed`, `unknown`), as scx_steer learned it.
    pub steering: Option<String>,
    /// Bytes received per second.
    pub received_per_s: f64,
    /// Bytes sent per second.
    pub sent_per_s: f64,
    /// Its queues with an interrupt.
    pub queues: Vec<QueueUse>,
}

/// A queue of a NIC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueUse {
    /// Name of its interrupt's handler.
    pub name: String,
    /// Number of the interrupt.
    pub irq: u32,
    /// The CPUs that take it.
    pub cpus: String,
    /// Interrupts per second.
    pub interrupts_per_s: f64,
    /// Names of the threads that move data and ran last on these CPUs.
    pub beside: Vec<String>,
}

/// A thread that moves data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its cgroup.
    pub cgroup: String,
    /// `long`, `short` or `mixed`.
    pub class: String,
    /// Seconds since it was first seen with this class.
    pub since_s: u64,
    /// The CPU where softirq processes its packets.
    pub home_cpu: Option<u32>,
    /// The CPU it runs on, or ran on last.
    pub cpu: Option<u32>,
    /// Why it is there, as far as scx_steer's decisions tell.
    pub why: String,
    /// The values that policy rules give it, with the rules' places.
    pub rules: Vec<String>,
    /// Estimated CPU cost of its recent long flows, in ns.
    pub long_cost_ns: u64,
    /// ... and of its recent short flows.
    pub short_cost_ns: u64,
    /// Bytes of some of its last bursts, newest first.
    pub last_bursts: Vec<u64>,
}

/// A CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuUse {
    /// Its number.
    pub cpu: u32,
    /// Its node and its last-level cache.
    pub node: Option<u32>,
    /// Index of its last-level cache.
    pub llc: Option<u32>,
    /// Time of threads with long flows.
    pub long: f64,
    /// ... of threads with short flows.
    pub short: f64,
    /// ... of all others.
    pub other: f64,
    /// ... of softirq and interrupts.
    pub softirq: f64,
    /// Whether a long-flow thread runs here or was last sent here.
    pub claimed: bool,
    /// Whether the core is reserved for short-flow threads.
    pub reserved: bool,
}

/// A cgroup.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupUse {
    /// Path from the root of the tree.
    pub path: String,
    /// CPUs used, with those of the cgroups below it.
    pub cpus_used: f64,
    /// cpu.weight.
    pub weight: Option<u32>,
    /// CPUs that cpu.max allows; absent without a limit.
    pub quota_cpus: Option<f64>,
    /// Share of the interval in which it was throttled.
    pub throttled: f64,
    /// The values that policy rules give it, with the rules' places.
    pub rules: Vec<String>,
}
