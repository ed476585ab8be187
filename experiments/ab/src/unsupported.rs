//! What a run needs and this machine cannot do: no failure, but a reason to leave the run out.

use std::path::PathBuf;

use steer_ground::tool;

/// What the run needs cannot be had here: no failure, but a reason to leave it out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unsupported(pub(super) String);

impl Unsupported {
    /// A command that does not work somewhere.
    pub(super) fn command(command: &str, place: &str, reason: &str) -> Self {
        Self(format!("{command} does not work {place}: {reason}"))
    }
}

/// As [`tool::installed`], but as a reason to leave the run out.
pub(super) fn installed(program: &str, how: &str) -> Result<PathBuf, Unsupported> {
    tool::installed(program, how).map_err(|error| Unsupported(error.to_string()))
}
