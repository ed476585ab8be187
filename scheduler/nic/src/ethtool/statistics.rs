//! Counters that a driver names itself.

use std::collections::BTreeMap;
use std::io;

use super::Ethtool;
use super::strings::{SLACK, StringSet};

const GET: u32 = 0x1d;

impl Ethtool {
    /// All counters by the driver's names.
    pub(crate) fn statistics(&self, interface: &str) -> io::Result<BTreeMap<String, u64>> {
        let names = self.strings(interface, StringSet::Statistics)?;
        let mut words = vec![0; 2 + 2 * (names.len() + SLACK)];
        words[0] = GET;
        words[1] = u32::try_from(names.len()).map_err(io::Error::other)?;
        self.call(interface, &mut words)?;
        let number = |pair: &[u32]| {
            // u64 in the order of this machine's bytes, on a boundary of 32 bits
            let bytes: Vec<u8> = pair.iter().flat_map(|word| word.to_ne_bytes()).collect();
            bytes.try_into().map_or(0, u64::from_ne_bytes)
        };
        Ok(names.into_iter().zip(words[2..].chunks(2).map(number)).collect())
    }
}
