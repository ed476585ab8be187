//! The error that this machine lacks something that a run needs. Experiments then skip the point
//! instead of failing.

use std::path::PathBuf;

use steer_ground::tool;

/// This machine lacks something that the run needs. The text says what.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unsupported(pub(super) String);

impl Unsupported {
    /// For a command that does not work at this place.
    pub(super) fn command(command: &str, place: &str, reason: &str) -> Self {
        Self(format!("{command} does not work {place}: {reason}"))
    }
}

/// As [`tool::installed`], with this error.
pub(super) fn installed(program: &str, how: &str) -> Result<PathBuf, Unsupported> {
    tool::installed(program, how).map_err(|error| Unsupported(error.to_string()))
}
