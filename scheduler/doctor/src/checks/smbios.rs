//! Memory slots in the firmware's table (SMBIOS 3.7, section 7.18: type 17, Memory Device).

/// A slot for a memory module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// The slot's name, such as `DIMM_A1`.
    pub(super) locator: String,
    /// The name of its bank, such as `P0 CHANNEL A`.
    pub(super) bank: String,
    /// Whether a module is in it.
    pub(super) filled: bool,
}

const MEMORY_DEVICE: u8 = 17;
/// Bytes before the fields of a structure: type, length, handle.
const HEAD: usize = 4;
const SIZE: usize = 0x0c;
const LOCATOR: usize = 0x10;
const BANK: usize = 0x11;
/// The size of a slot of which the firmware knows nothing.
const UNKNOWN: u16 = 0xffff;

/// The memory slots of a table. A table that is cut short gives the slots before the cut.
pub(super) fn slots(mut table: &[u8]) -> Vec<Slot> {
    let mut slots = Vec::new();
    while let [kind, length, ..] = *table {
        let length = usize::from(length);
        if length < HEAD || table.len() < length {
            break;
        }
        let (formatted, rest) = table.split_at(length);
        // the strings end with an empty one
        let Some(end) = rest.windows(2).position(|pair| pair == [0, 0]) else { break };
        if kind == MEMORY_DEVICE {
            slots.extend(slot(formatted, &rest[..end]));
        }
        table = &rest[end + 2..];
    }
    slots
}

fn slot(formatted: &[u8], strings: &[u8]) -> Option<Slot> {
    let string = |at: usize| {
        let number = usize::from(*formatted.get(at)?).checked_sub(1)?;
        let bytes = strings.split(|byte| *byte == 0).nth(number)?;
        Some(String::from_utf8_lossy(bytes).trim().to_owned())
    };
    let size = u16::from_le_bytes([*formatted.get(SIZE)?, *formatted.get(SIZE + 1)?]);
    Some(Slot {
        locator: string(LOCATOR).unwrap_or_default(),
        bank: string(BANK).unwrap_or_default(),
        filled: size != 0 && size != UNKNOWN,
    })
}

impl Slot {
    /// The socket and the channel, by the names that boards use: `P0 CHANNEL A` (AMD's and others'),
    /// `CPU1_DIMM_A1` (Supermicro's), `A1` (Dell's: socket 1), `PROC 1 DIMM 3` has none.
    pub(super) fn place(&self) -> Option<(String, String)> {
        let bank = self.bank.to_uppercase().replace('_', " ");
        let locator = self.locator.to_uppercase().replace(['_', '-'], " ");
        if let Some((before, channel)) = bank.split_once("CHANNEL ") {
            let socket = digits(before).or_else(|| digits(&locator)).unwrap_or_default();
            return Some((socket, channel.split_whitespace().next()?.to_owned()));
        }
        // the last word: the channel's letter and the slot's number
        let last = locator.split_whitespace().next_back()?;
        let (letter, number) = last.split_at_checked(1)?;
        let is_channel = letter.chars().all(|c| c.is_ascii_uppercase())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit());
        let socket = digits(locator.strip_suffix(last)?).unwrap_or_default();
        is_channel.then(|| (socket, letter.to_owned()))
    }
}

/// The first number in a text.
fn digits(text: &str) -> Option<String> {
    let number: String = text
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(|c| c.is_ascii_digit())
        .collect();
    (!number.is_empty()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structure(kind: u8, size: u16, strings: &[&str]) -> Vec<u8> {
        let mut bytes = vec![0; 0x15];
        (bytes[0], bytes[1]) = (kind, 0x15);
        bytes[SIZE..SIZE + 2].copy_from_slice(&size.to_le_bytes());
        (bytes[LOCATOR], bytes[BANK]) = (1, 2);
        for string in strings {
            bytes.extend(string.bytes());
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn slots_are_read_and_other_structures_are_not() {
        let mut table = structure(1, 0, &["a board"]);
        table.extend(structure(17, 32768, &["DIMM 0", "P0 CHANNEL A"]));
        table.extend(structure(17, 0, &["DIMM 1", "P0 CHANNEL B"]));
        let found = slots(&table);
        assert_eq!(found.iter().map(|slot| slot.filled).collect::<Vec<_>>(), [true, false]);
        assert_eq!(found[1].place(), Some(("0".into(), "B".into())));
        table.truncate(table.len() - 3);
        assert_eq!(slots(&table), found[..1], "cut short");
        assert_eq!(slots(&[17, 2, 0]), []);
    }

    #[test]
    fn the_names_of_boards_are_understood_or_said_not_to_be() {
        let place = |locator: &str, bank: &str| {
            Slot { locator: locator.into(), bank: bank.into(), filled: true }.place()
        };
        let at = |socket: &str, channel: &str| Some((socket.to_owned(), channel.to_owned()));
        assert_eq!(place("CPU1_DIMM_A1", "NODE 1"), at("1", "A"));
        assert_eq!(place("P2-DIMMC1", ""), None, "one word");
        assert_eq!(place("DIMM_P0_B0", "BANK 1"), at("0", "B"));
        assert_eq!(place("A1", "Not Specified"), at("", "A"));
        assert_eq!(place("DIMM 0", "P1_Node0_Channel2_Dimm0"), None);
        assert_eq!(place("PROC 1 DIMM 3", "Not Specified"), None);
    }
}
