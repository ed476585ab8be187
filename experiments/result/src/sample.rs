//! One sample of a result. The comments are the descriptions in its JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cpu::CpuRecord;
use super::observer::ObserverReport;
use steer_traffic::client::ClientReport;

/// One arm measured once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Steering world.
    pub world: String,
    /// Arm.
    pub arm: String,
    /// Round, from 0; samples of one world and round are compared with each other.
    pub round: u32,
    /// Position of the arm within the round, from 0; drawn at random.
    pub order: u32,
    /// First source port of the client, the same for all arms of the round.
    pub source_port: u16,
    /// What the observer on the measured machine printed.
    pub observe: ObserverReport,
    /// What the client printed.
    pub client: ClientReport,
    /// Spins of the hogs per second: work of a fixed size that needs nothing but a CPU. Absent where
    /// there were no hogs, or they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hog_rate: Option<f64>,
    /// What all CPUs of the measured machine did in the same time; absent where that was not
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuRecord>,
}
