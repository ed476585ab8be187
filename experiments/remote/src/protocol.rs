//! The messages between runner and agent, in JSON. The first ones are sent in the open, and check
//! that both hold the same key. All later ones belong to an authenticated session.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::about::About;
use super::key::{BYTES, Tag};
use steer_traffic::load::Load;

/// Both sides must be of the same release, so that every number means the same on both.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How often each side shows that it is alive.
pub(super) const BEAT: Duration = Duration::from_secs(2);
/// A peer that is silent for longer is taken for dead.
pub(super) const SILENCE: Duration = Duration::from_secs(10);
/// Time allowed beyond warm-up and sample, for connecting and draining.
pub(super) const GRACE: Duration = Duration::from_secs(40);

/// A random number that each side chooses for one connection.
pub(super) type Nonce = [u8; BYTES];

/// Runner to agent, in the open.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Opening {
    /// The first message.
    Hello { version: String, nonce: Nonce },
    /// Proves that the runner holds the key.
    Proof(Tag),
}

/// Agent to runner, in the open.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Answer {
    /// The answer to a hello.
    Challenge { version: String, nonce: Nonce },
    /// The answer to a proof. Proves that the agent holds the key, too.
    Proof(Tag),
    /// The runner is refused, for this reason.
    Refused(String),
}

/// Runner to agent, in a session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// The sender is alive.
    Beat,
    /// Drive this traffic to the runner.
    Drive(Load),
}

/// Agent to runner, in a session.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Reply {
    /// The sender is alive.
    Beat,
    /// It is the runner's turn. Describes the machine that will drive the traffic.
    Welcome(About),
    /// The warm-up is over.
    Warm,
    /// The traffic is over; the client's report.
    Report(String),
    /// The request failed, for this reason.
    Failed(String),
}
