//! Settings that an experiment varies (MTU, offloads, buffers, loss ...). They are shell commands
//! in the guest and at the lab's end of the cable. They run before the first measurement, and are
//! the same for every arm. Both ends vanish after the run, so nothing has to be put back.

use std::time::Duration;

use anyhow::Result;

use super::unsupported::Unsupported;
use steer_ground::tool;
use steer_lab::guest::Guest;
use steer_scenario::tuning::ETHTOOL;

/// Time for a command, because a driver may reset its device.
const LONGEST: Duration = Duration::from_secs(60);

/// The commands, in order.
#[derive(Debug, Clone)]
pub struct Setup {
    /// A shell command to run in the guest before anything is measured; may be repeated.
    pub setup_guest: Vec<String>,
    /// The same at the other end of the cable, in the lab's network namespace on this machine.
    pub setup_peer: Vec<String>,
}

impl Setup {
    /// A program that a command needs and that the guest lacks by default.
    pub(super) fn needs(&self) -> Option<(&'static str, &'static str)> {
        let ours = |command: &String| command.split_whitespace().any(|word| word == ETHTOOL.0);
        self.setup_guest.iter().any(ours).then_some(ETHTOOL)
    }

    /// Runs all of them.
    ///
    /// # Errors
    /// [`Unsupported`]: a command fails. Other errors: the guest is lost.
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
            Setup { setup_guest: vec![command.to_owned()], setup_peer: Vec::new() }.needs()
        };
        assert_eq!(needs("ethtool -K eth0 gro off"), Some(ETHTOOL));
        assert_eq!(needs("ip link set eth0 mtu 9000"), None);
    }
}
