//! Who may change host settings.

use anyhow::{Result, ensure};

/// Checks that this is root.
///
/// # Errors
/// It is not.
pub(crate) fn needed(command: &str) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "scx_steer {command} changes host settings and needs root: run it with sudo"
    );
    Ok(())
}
