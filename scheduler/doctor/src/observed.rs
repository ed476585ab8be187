//! What `scx_steer observe --json` reports, as far as the doctor uses it.

use serde::{Deserialize, Serialize};

/// A measurement. Shares are 0 to 1, and absent if there was nothing to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Seconds.
    pub duration_s: f64,
    /// The sched_ext scheduler in force, or "default".
    pub scheduler: String,
    /// Long flows.
    pub long: Moved,
    /// Short flows.
    pub short: Moved,
    /// Share of received long-flow bytes copied on a NIC-local CPU.
    pub local_share: Option<f64>,
    /// ... on the CPU whose softirq processed them.
    pub home_share: Option<f64>,
    /// Share of long-flow CPU time on CPUs that short-flow threads used as well.
    pub mixed_share: Option<f64>,
}

/// What a class moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// Payload.
    pub bytes_received: u64,
    /// Payload.
    pub bytes_sent: u64,
    /// CPU-seconds of its threads.
    pub cpu_s: f64,
    /// Requests served; absent for long flows.
    #[serde(default)]
    pub messages: u64,
}
