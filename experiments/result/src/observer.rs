//! The observer's report, version 1: the parts that results use. The comments are the descriptions
//! in the result's JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The report of `scx_steer observe --json`. Values that could not be measured are null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObserverReport {
    /// Format of this object.
    pub version: u32,
    /// Share of long-flow bytes copied on a NIC-local CPU.
    pub local_share: Option<f64>,
    /// Share of long-flow bytes copied on the CPU whose softirq processed them.
    pub home_share: Option<f64>,
    /// Share of long-flow bytes copied in the last-level cache whose softirq processed them.
    pub llc_share: Option<f64>,
    /// Share of long-flow CPU time on CPUs that serve RPCs as well.
    pub mixed_share: Option<f64>,
    /// The same, with the softirq for flows counted in; absent from older reports.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub mixed_share_with_softirq: Option<Option<f64>>,
    /// Long-flow payload per CPU-second of its threads and softirq.
    pub throughput_per_core: Option<f64>,
    /// RPCs per CPU-second of their threads and softirq.
    pub rpcs_per_cpu_second: Option<f64>,
    /// Long-flow threads.
    pub long: ThreadClass,
    /// RPC threads.
    pub short: ThreadClass,
    /// All other threads.
    pub none: ThreadClass,
    /// The wait of long-flow payload; absent from older reports.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub napi_to_copy: Option<Option<Waits>>,
    /// Sizes of long-flow packets; absent from older reports.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub skb_size: Option<Option<Sizes>>,
    /// The NICs with a known place; absent from older reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<ObservedNic>,
    /// What used each CPU over time; absent if that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// Other figures.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The threads of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadClass {
    /// Moves to another CPU, per second.
    pub migrations_per_s: Option<f64>,
    /// Context switches to these threads, per second.
    pub switches_per_s: Option<f64>,
    /// Other figures.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How long payload waited, from NAPI to the start of its copy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Median in microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile in microseconds.
    pub p99_us: Option<f64>,
    /// Other figures.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Sizes of the packets that TCP is handed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    /// Mean payload in bytes.
    pub mean_bytes: Option<f64>,
    /// Other figures.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A NIC that the observer knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedNic {
    /// The CPUs near it, as a list like `0-3,8`.
    pub local_cpus: String,
    /// Other facts.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What used each CPU over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// Seconds per value.
    pub interval_s: f64,
    /// The CPUs.
    pub cpus: Vec<CpuShares>,
}

/// Shares of each interval, 0 to 1. The CPU was idle for the rest of the interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuShares {
    /// Number of the CPU.
    pub cpu: usize,
    /// Long-flow threads.
    pub long: Vec<f64>,
    /// RPC threads.
    pub short: Vec<f64>,
    /// All other threads.
    pub other: Vec<f64>,
    /// Softirq.
    pub softirq: Vec<f64>,
}

impl ObserverReport {
    /// The format that is understood.
    pub const VERSION: u32 = 1;

    /// All threads, by class.
    pub(crate) fn classes(&self) -> [&ThreadClass; 3] {
        [&self.long, &self.short, &self.none]
    }
}

/// A part that may be null, if it is there.
fn present<'de, T, D>(reader: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(reader).map(Some)
}
