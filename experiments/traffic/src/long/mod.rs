//! Long flows, for both ends: the demand on the sender, its pace, sending and receiving.

mod demand;
mod errqueue;
mod pace;
mod read;
mod send;
mod zerocopy;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steer_ground::word::Word;

pub use demand::{Demand, MAX_CHUNK};
pub use read::{Reader, Reads};
pub use send::send;
pub use zerocopy::{Completed, Completions};

/// Direction of long flows, seen from the measured machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To the measured machine, from the client.
    #[default]
    In,
    /// From the measured machine, to the client.
    Out,
}

impl Word for Direction {
    const ALL: &'static [Self] = &[Self::In, Self::Out];

    fn word(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
        }
    }
}
