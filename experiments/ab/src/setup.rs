//! Runs the commands that set up an experiment. Both ends of the cable vanish after the run, so
//! nothing has to be put back.

use std::time::Duration;

use anyhow::Result;

use super::unsupported::Unsupported;
use steer_ground::tool;
use steer_lab::guest::Guest;
use steer_scenario::setup::Setup;

/// Time for a command, because a driver may reset its device.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs all of them.
///
/// # Errors
/// [`Unsupported`]: a command fails. Other errors: the guest is lost.
pub(super) fn apply(setup: &Setup, guest: &mut Guest) -> Result<()> {
    for command in &setup.setup_peer {
        let mut shell = guest.net.command("sh");
        tool::output(shell.args(["-c", command]), "it").map_err(|error| {
            Unsupported::command(command, "on this machine", &format!("{error:#}"))
        })?;
    }
    for command in &setup.setup_guest {
        let done = guest.link.run(&["sh", "-c", command], LONGEST)?;
        if !done.success() {
            let reason = done.last_words();
            return Err(Unsupported::command(command, "in the guest", reason).into());
        }
    }
    Ok(())
}
