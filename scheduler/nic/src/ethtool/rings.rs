//! Ring sizes and interrupt coalescing: read for the reader of `nic status`, not changed.

use std::io;

use serde::{Deserialize, Serialize};

use super::Ethtool;

const GET_RINGS: u32 = 0x10;
const GET_COALESCE: u32 = 0x0e;

/// Descriptors in each ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rings {
    /// Of each receive queue.
    pub rx: u32,
    /// Of each transmit queue.
    pub tx: u32,
    /// The most the device takes.
    pub max_rx: u32,
    /// The most the device takes.
    pub max_tx: u32,
}

/// When the device interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coalesce {
    /// Microseconds after the first packet received.
    pub rx_usecs: u32,
    /// Packets received.
    pub rx_frames: u32,
    /// Microseconds after the first packet sent.
    pub tx_usecs: u32,
    /// Packets sent.
    pub tx_frames: u32,
    /// The driver adapts the values for received packets.
    pub adaptive_rx: bool,
    /// The driver adapts the values for sent packets.
    pub adaptive_tx: bool,
}

impl Ethtool {
    pub(crate) fn rings(&self, interface: &str) -> io::Result<Rings> {
        let mut words = [0; 9];
        words[0] = GET_RINGS;
        self.call(interface, &mut words)?;
        let [_, max_rx, _, _, max_tx, rx, _, _, tx] = words;
        Ok(Rings { rx, tx, max_rx, max_tx })
    }

    pub(crate) fn coalesce(&self, interface: &str) -> io::Result<Coalesce> {
        let mut words = [0; 23];
        words[0] = GET_COALESCE;
        self.call(interface, &mut words)?;
        Ok(Coalesce {
            rx_usecs: words[1],
            rx_frames: words[2],
            tx_usecs: words[5],
            tx_frames: words[6],
            adaptive_rx: words[10] != 0,
            adaptive_tx: words[11] != 0,
        })
    }
}
