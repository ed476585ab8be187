//! One sample of a result. The comments are the descriptions in its JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cpu::CpuRecord;
use super::observer::ObserverReport;
use steer_traffic::client::ClientReport;

/// One arm measured once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Steering mode.
    #[serde(rename = "world")]
    pub mode: String,
    /// Arm.
    pub arm: String,
    /// Round, from 0. Samples of one steering mode and round are compared with each other.
    pub round: u32,
    /// Position of the arm within the round, from 0. It is random.
    pub order: u32,
    /// First source port of the client. It is the same for all arms of a round.
    pub source_port: u16,
    /// The observer's report, from the measured machine.
    pub observe: ObserverReport,
    /// The client's report.
    pub client: ClientReport,
    /// Spins of the hogs per second. A spin is a fixed amount of work that needs only a CPU. Absent
    /// if there were no hogs, or if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hog_rate: Option<f64>,
    /// What all CPUs of the measured machine did in the same time; absent if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuRecord>,
}
