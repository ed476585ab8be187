//! Settings that an experiment varies (MTU, offloads, buffers, loss ...). They are shell commands on
//! the measured machine and at the other end of the cable. They run before the first measurement,
//! and are the same for every arm.

use super::tuning::ETHTOOL;

/// The commands, in order.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// A shell command to run in the guest before anything is measured; may be repeated.
    pub setup_guest: Vec<String>,
    /// The same at the other end of the cable.
    pub setup_peer: Vec<String>,
}

impl Setup {
    /// A program that a command needs and that a guest lacks by default, and how to install it.
    pub fn needs(&self) -> Option<(&'static str, &'static str)> {
        let ours = |command: &String| command.split_whitespace().any(|word| word == ETHTOOL.0);
        self.setup_guest.iter().any(ours).then_some(ETHTOOL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethtool_is_brought_for_commands_that_are_it() {
        let needs = |command: &str| {
            Setup { setup_guest: vec![command.to_owned()], ..Setup::default() }.needs()
        };
        assert_eq!(needs("ethtool -K eth0 gro off"), Some(ETHTOOL));
        assert_eq!(needs("ip link set eth0 mtu 9000"), None);
    }
}
