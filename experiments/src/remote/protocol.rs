//! What runner and agent say to each other: JSON, first in the open, to find out whether they hold
//! the same key, then as a session.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::about::About;
use super::key::{BYTES, Tag};
use crate::traffic::load::Load;

/// Both sides come from one release, so that they mean the same by every number.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How often each side shows that it is there.
pub(super) const BEAT: Duration = Duration::from_secs(2);
/// Longest silence of a peer that is there.
pub(super) const SILENCE: Duration = Duration::from_secs(10);
/// Beyond warm-up and sample, for connecting and draining.
pub(super) const GRACE: Duration = Duration::from_secs(40);

/// Chosen by each side for one connection.
pub(super) type Nonce = [u8; BYTES];

/// Runner to agent, in the open.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Opening {
    /// First of all.
    Hello { version: String, nonce: Nonce },
    /// That the runner holds the key.
    Proof(Tag),
}

/// Agent to runner, in the open.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Answer {
    /// To a hello.
    Challenge { version: String, nonce: Nonce },
    /// To a proof: that the agent holds the key, too.
    Proof(Tag),
    /// No.
    Refused(String),
}

/// Runner to agent, in a session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// I am there.
    Beat,
    /// Drive this traffic towards me.
    Drive(Load),
}

/// Agent to runner, in a session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Reply {
    /// I am there.
    Beat,
    /// It is your turn; this is the machine that will drive the traffic.
    Welcome(About),
    /// The warm-up is over.
    Warm,
    /// The traffic is over; the client's report.
    Report(String),
    /// It did not work.
    Failed(String),
}
