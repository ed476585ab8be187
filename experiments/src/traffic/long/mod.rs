//! Long flows, as both ends of them need it: what is demanded of a sender, its pace, how it sends
//! and how a receiver reads.

mod demand;
mod errqueue;
mod pace;
mod read;
mod send;
mod zerocopy;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use demand::{Demand, MAX_CHUNK};
pub(crate) use read::{Reader, Reads};
pub(crate) use send::send;
pub(crate) use zerocopy::{Completed, Completions};

/// Which way long flows go, seen from the measured machine.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// To the measured machine, from the client.
    #[default]
    In,
    /// From the measured machine, to the client.
    Out,
}

/// The word that stands for a value on command lines.
pub(crate) fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
