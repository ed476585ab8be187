//! Features of a device: which are in force, and which can be changed.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use super::Ethtool;
use super::strings::StringSet;

const GET: u32 = 0x3a;
const SET: u32 = 0x3b;
/// Its name in the kernel's list of features (net/ethtool/common.c).
const NTUPLE: &str = "rx-ntuple-filter";

/// A feature of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// In force.
    pub on: bool,
    /// Neither the driver nor the administrator can change it.
    pub fixed: bool,
}

impl Ethtool {
    /// Whether ntuple rules are taken; `None` if the kernel has no such feature.
    pub(crate) fn ntuple(&self, interface: &str) -> io::Result<Option<Feature>> {
        Ok(self.features(interface)?.get(NTUPLE).copied())
    }

    /// All features, by the kernel's names (net/ethtool/common.c).
    pub(crate) fn features(&self, interface: &str) -> io::Result<BTreeMap<String, Feature>> {
        let names = self.strings(interface, StringSet::Features)?;
        let blocks = names.len().div_ceil(32);
        let mut words = vec![0; 2 + 4 * blocks];
        words[0] = GET;
        words[1] = u32::try_from(blocks).map_err(io::Error::other)?;
        self.call(interface, &mut words)?;
        let feature = |at: usize| {
            let is = |word: usize| words[2 + 4 * (at / 32) + word] & (1 << (at % 32)) != 0;
            let (available, active, never_changed) = (is(0), is(2), is(3));
            Feature { on: active, fixed: !available || never_changed }
        };
        let named = names.into_iter().enumerate().filter(|(_, name)| !name.is_empty());
        Ok(named.map(|(at, name)| (name, feature(at))).collect())
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
