//! How many channels a device has and uses.

use std::io;

use super::Ethtool;
use crate::setting::Channels;

const GET: u32 = 0x3c;
const SET: u32 = 0x3d;

impl Ethtool {
    /// The most it can have, and those in use.
    pub(crate) fn channels(&self, interface: &str) -> io::Result<(Channels, Channels)> {
        let mut words = [0; 9];
        words[0] = GET;
        self.call(interface, &mut words)?;
        let [_, max @ .., _, _, _, _] = words;
        let [_, _, _, _, _, now @ ..] = words;
        Ok((counts(max), counts(now)))
    }

    /// Uses this many.
    pub(crate) fn set_channels(&self, interface: &str, wanted: Channels) -> io::Result<()> {
        let Channels { rx, tx, other, combined } = wanted;
        self.call(interface, &mut [SET, 0, 0, 0, 0, rx, tx, other, combined])
    }
}

fn counts([rx, tx, other, combined]: [u32; 4]) -> Channels {
    Channels { rx, tx, other, combined }
}
