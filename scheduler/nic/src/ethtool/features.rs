//! Whether a device takes ntuple rules, and whether that can be changed.

use std::io;

use serde::Serialize;

use super::Ethtool;
use super::strings::StringSet;

const GET: u32 = 0x3a;
const SET: u32 = 0x3b;
/// Its name in the kernel's list of features (net/ethtool/common.c).
const NTUPLE: &str = "rx-ntuple-filter";

/// A feature of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// In force.
    pub on: bool,
    /// Neither the driver nor the administrator can change it.
    pub fixed: bool,
}

impl Ethtool {
    /// Whether ntuple rules are taken; `None` if the kernel has no such feature.
    pub(crate) fn ntuple(&self, interface: &str) -> io::Result<Option<Feature>> {
        let Some((block, bit, blocks)) = self.ntuple_bit(interface)? else { return Ok(None) };
        let mut words = vec![0; 2 + 4 * blocks];
        words[0] = GET;
        words[1] = u32::try_from(blocks).map_err(io::Error::other)?;
        self.call(interface, &mut words)?;
        let [available, _requested, active, never_changed] = words[2 + 4 * block..][..4] else {
            return Err(io::Error::other("a short answer"));
        };
        let is = |bits: u32| bits & bit != 0;
        Ok(Some(Feature { on: is(active), fixed: !is(available) || is(never_changed) }))
    }

    /// Takes ntuple rules, or does not.
    pub(crate) fn set_ntuple(&self, interface: &str, on: bool) -> io::Result<()> {
        let unsupported = || io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        let (block, bit, blocks) = self.ntuple_bit(interface)?.ok_or_else(unsupported)?;
        let mut words = vec![0; 2 + 2 * blocks];
        words[0] = SET;
        words[1] = u32::try_from(blocks).map_err(io::Error::other)?;
        words[2 + 2 * block] = bit;
        words[3 + 2 * block] = if on { bit } else { 0 };
        self.call(interface, &mut words)
    }

    /// Where the feature's bit is: block, bit in it, number of blocks.
    fn ntuple_bit(&self, interface: &str) -> io::Result<Option<(usize, u32, usize)>> {
        let names = self.strings(interface, StringSet::Features)?;
        let position = names.iter().position(|name| name == NTUPLE);
        Ok(position.map(|at| (at / 32, 1 << (at % 32), names.len().div_ceil(32))))
    }
}
