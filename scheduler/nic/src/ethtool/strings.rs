//! Names of a driver's features.

use std::io;

use super::Ethtool;

const GET_STRINGS: u32 = 0x1b;
const GET_COUNTS: u32 = 0x37;
/// Words of a string.
const STRING: usize = 8;
/// Room for strings that a driver has more of by now than it said: it may change meanwhile.
pub(super) const SLACK: usize = 256;

/// What the strings name.
#[derive(Clone, Copy, Debug)]
pub(super) enum StringSet {
    Statistics = 1,
    Features = 4,
}

impl Ethtool {
    /// Names of a set, in their order.
    pub(super) fn strings(&self, interface: &str, set: StringSet) -> io::Result<Vec<String>> {
        let set = set as u32;
        let mut count = [GET_COUNTS, 0, 1 << set, 0, 0];
        self.call(interface, &mut count)?;
        let room = count[4] as usize + SLACK;
        let mut words = vec![0; 3 + room * STRING];
        (words[0], words[1], words[2]) = (GET_STRINGS, set, count[4]);
        self.call(interface, &mut words)?;
        let length = words[2] as usize;
        Ok(words[3..].chunks(STRING).take(length.min(room)).map(text).collect())
    }
}

/// A text that ends at its first zero.
fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
