//! Settings that an experiment is about (MTU, offloads, buffers, loss ...): shell commands, in the
//! guest and on the lab's end of the cable, before anything is measured and alike for every arm. Both
//! ends are gone after the run, so there is nothing to put back.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use super::tuning::ETHTOOL;
use crate::lab::guest::Guest;
use crate::lab::tool;

/// For a driver that resets its device.
const LONGEST: Duration = Duration::from_secs(60);

/// What the run needs cannot be had here: no failure, but a reason to leave it out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unsupported(pub(super) String);

impl Unsupported {
    fn command(command: &str, place: &str, reason: &str) -> Self {
        Self(format!("{command} does not work {place}: {reason}"))
    }
}

/// As [`tool::installed`], but as a reason to leave the run out.
pub(super) fn installed(program: &str, how: &str) -> Result<PathBuf, Unsupported> {
    tool::installed(program, how).map_err(|error| Unsupported(error.to_string()))
}

/// Flags for settings.
#[derive(Debug, Args)]
pub(super) struct SetupArgs {
    /// A shell command to run in the guest before anything is measured; may be repeated. Its NIC is
    /// eth0; with --nics each-node that of node N is ethN.
    #[arg(long, value_name = "COMMAND")]
    setup_guest: Vec<String>,
    /// The same at the other end of the cable, in the lab's network namespace on this machine. The
    /// device is tap0, and tapN at ethN.
    #[arg(long, value_name = "COMMAND")]
    setup_peer: Vec<String>,
}

impl SetupArgs {
    /// A program that the guest has not by itself, if one of its commands is that.
    pub(super) fn needs(&self) -> Option<(&'static str, &'static str)> {
        let ours = |command: &String| command.split_whitespace().any(|word| word == ETHTOOL.0);
        self.setup_guest.iter().any(ours).then_some(ETHTOOL)
    }

    /// Runs all of them.
    ///
    /// # Errors
    /// [`Unsupported`], when a command fails; others, when the guest is lost.
    pub(super) fn apply(&self, guest: &mut Guest) -> Result<()> {
        for command in &self.setup_peer {
            let mut shell = guest.net.command("sh");
            tool::output(shell.args(["-c", command]), "it").map_err(|error| {
                Unsupported::command(command, "on this machine", &format!("{error:#}"))
            })?;
        }
        for command in &self.setup_guest {
            let done = guest.link.run(&["sh", "-c", command], LONGEST)?;
            if !done.success() {
                let reason = done.last_words();
                return Err(Unsupported::command(command, "in the guest", reason).into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethtool_is_brought_for_commands_that_are_it() {
        let needs = |command: &str| {
            SetupArgs { setup_guest: vec![command.to_owned()], setup_peer: Vec::new() }.needs()
        };
        assert_eq!(needs("ethtool -K eth0 gro off"), Some(ETHTOOL));
        assert_eq!(needs("ip link set eth0 mtu 9000"), None);
    }
}
