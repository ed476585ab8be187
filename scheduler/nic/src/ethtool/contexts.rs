//! RSS contexts: further indirection tables, for packets that a rule sends to one.

use std::io;

use super::Ethtool;
use super::rss::blocks;
use crate::queues::Queues;

pub(super) const GET: u32 = 0x46;
pub(super) const SET: u32 = 0x47;
/// Words of `struct ethtool_rxfh` before the table, and which of them is what
/// (include/uapi/linux/ethtool.h; a test compares them with that file).
pub(super) const WORDS: usize = 6;
pub(super) const CONTEXT: usize = 1;
pub(super) const TABLE_SIZE: usize = 2;
pub(super) const NEW: u32 = 0xffff_ffff;
/// The kernel numbers contexts from 1, and drivers have room for fewer.
const LAST: u32 = 256;

impl Ethtool {
    /// The queues of each RSS context, by the kernel's number; `None` if the device has only one
    /// table.
    pub(crate) fn rss_contexts(&self, interface: &str) -> io::Result<Option<Vec<(u32, Queues)>>> {
        let mut found = Vec::new();
        for context in 1..=LAST {
            match self.rss_context(interface, context) {
                Ok(table) => found.extend(Queues::all(table).map(|queues| (context, queues))),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EOPNOTSUPP) => return Ok(None),
                    Some(libc::ENOENT | libc::EINVAL) => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(Some(found))
    }

    /// The table of an RSS context.
    pub(super) fn rss_context(&self, interface: &str, context: u32) -> io::Result<Vec<u32>> {
        let mut size = [GET, context, 0, 0, 0, 0];
        self.call(interface, &mut size)?;
        let entries = size[TABLE_SIZE];
        let mut words = vec![0; WORDS + entries as usize];
        (words[0], words[CONTEXT], words[TABLE_SIZE]) = (GET, context, entries);
        self.call(interface, &mut words)?;
        Ok(words.split_off(WORDS))
    }

    /// The context whose table has exactly these queues.
    pub(super) fn find_context(&self, interface: &str, queues: Queues) -> io::Result<Option<u32>> {
        let contexts = self.rss_contexts(interface)?.unwrap_or_default();
        Ok(contexts.into_iter().find(|(_, its)| *its == queues).map(|(context, _)| context))
    }

    /// Makes a context of these queues, or deletes one that no rule uses.
    pub(crate) fn set_context(&self, interface: &str, queues: Queues, on: bool) -> io::Result<()> {
        if on {
            let table = blocks(self.rss_table(interface)?.len(), queues);
            let entries = u32::try_from(table.len()).map_err(io::Error::other)?;
            let mut words = vec![SET, NEW, entries, 0, 0, 0];
            words.extend(table);
            return self.call(interface, &mut words);
        }
        let Some(context) = self.find_context(interface, queues)? else { return Ok(()) };
        if self.is_used(interface, context)? {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        // an empty table deletes it
        self.call(interface, &mut [SET, context, 0, 0, 0, 0])
    }
}
