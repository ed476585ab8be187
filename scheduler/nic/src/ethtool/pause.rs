//! Whether a device sends and obeys pause frames.

use std::io;

use serde::{Deserialize, Serialize};

use super::Ethtool;

const GET: u32 = 0x12;

/// Ethernet flow control of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// It negotiates both directions with its peer.
    pub autonegotiated: bool,
    /// It stops sending when its peer asks.
    pub rx: bool,
    /// It asks its peer to stop.
    pub tx: bool,
}

impl Ethtool {
    pub(crate) fn pause(&self, interface: &str) -> io::Result<Pause> {
        let mut words = [GET, 0, 0, 0];
        self.call(interface, &mut words)?;
        let [_, autonegotiated, rx, tx] = words.map(|word| word != 0);
        Ok(Pause { autonegotiated, rx, tx })
    }
}
