//! ntuple rules: how many there are.

use std::io;

use super::Ethtool;

const GET_COUNT: u32 = 0x2e;
/// Words of `struct ethtool_rxnfc`, and where its `rule_cnt` is.
const WORDS: usize = 48;
const RULE_COUNT: usize = 46;

impl Ethtool {
    /// How many rules the device has.
    pub(crate) fn rule_count(&self, interface: &str) -> io::Result<u32> {
        let mut words = [0; WORDS];
        words[0] = GET_COUNT;
        self.call(interface, &mut words)?;
        Ok(words[RULE_COUNT])
    }
}
