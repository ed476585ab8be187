//! The values that a rule can set, each with its text form and its allowed range.

mod cores;
mod given;
mod nic_name;
mod pool;
mod ports;
mod units;

use schemars::JsonSchema;
use serde::Serialize;
use strum::{Display, EnumString, VariantNames};

use super::refusal::Refusal;
use given::quoted;

pub use cores::Cores;
pub(crate) use given::{Given, Value};
pub use nic_name::NicName;
pub use pool::Pool;
pub use ports::{Port, Ports, Protocol};
pub use units::{Bytes, Time};

/// The class of the threads.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    JsonSchema,
    Display,
    EnumString,
    VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Class {
    /// Learned from their traffic.
    #[default]
    Auto,
    /// Threads that carry long flows.
    Long,
    /// Threads that serve short RPCs.
    Short,
    /// Threads without traffic.
    None,
}

/// Whose traffic is added up to find a class.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    JsonSchema,
    Display,
    EnumString,
    VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Granularity {
    /// The traffic of each thread.
    #[default]
    Thread,
    /// The traffic of all threads of a process.
    Process,
    /// The traffic of all threads of a cgroup.
    Cgroup,
}

/// Whether threads are moved to their packets.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    JsonSchema,
    Display,
    EnumString,
    VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Steer {
    /// They are moved.
    #[default]
    Follow,
    /// They are only scheduled fairly.
    Off,
}

/// How urgent a wake-up is.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    JsonSchema,
    Display,
    EnumString,
    VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Latency {
    /// As urgent as the thread's class makes it.
    #[default]
    Normal,
    /// It may preempt threads without traffic, as wake-ups of short-flow threads do.
    Low,
}

impl Value for Class {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        given.choice()
    }
}

impl Value for Granularity {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        given.choice()
    }
}

impl Value for Latency {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        given.choice()
    }
}

impl Value for Steer {
    fn read(given: &Given<'_>) -> Result<Self, Refusal> {
        match given.value.as_str() {
            Some(mode @ ("align" | "arfs")) => Err(Refusal::new(
                format!(
                    "\"{mode}\" steers the interrupts of a NIC, which serve all cgroups of the \
                     host, so a rule cannot set it"
                ),
                quoted(Self::VARIANTS),
            )),
            _ => given.choice(),
        }
    }
}
