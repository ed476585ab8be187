//! What a result records about any measured machine. Facts that cannot be read stay unknown.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use steer_ground::tool;
use steer_lab::SCX_STEER;
use steer_lab::agent::Link;

/// Name and version of scx_steer, as it prints them.
///
/// # Errors
/// The machine does not answer.
pub(super) fn scx_steer_version(link: &mut Link) -> Result<Option<String>> {
    let version = link.run(&[SCX_STEER, "--version"], Duration::from_secs(30))?;
    Ok(version.success().then(|| version.stdout.trim().to_owned()))
}

/// The time as RFC 3339, UTC.
pub(super) fn now() -> Option<String> {
    said(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))
}

/// The first line that a program prints; `None` if it does not run.
fn said(command: &mut Command) -> Option<String> {
    tool::output(command, "asking for a version").ok()?.lines().next().map(str::to_owned)
}
