//! The RSS indirection table of the default context.

use std::io;

use super::Ethtool;
use crate::queues::Queues;

const GET: u32 = 0x38;
const SET: u32 = 0x39;

impl Ethtool {
    /// The receive queue of each hash value.
    pub(crate) fn rss_table(&self, interface: &str) -> io::Result<Vec<u32>> {
        let mut size = [GET, 0];
        self.call(interface, &mut size)?;
        let mut words = vec![0; 2 + size[1] as usize];
        (words[0], words[1]) = (GET, size[1]);
        self.call(interface, &mut words)?;
        Ok(words.split_off(2))
    }

    /// Sets the table. One that the driver would make itself goes back to the driver's care: it
    /// then follows the number of channels.
    pub(crate) fn set_rss_table(
        &self,
        interface: &str,
        table: &[u32],
        receive_queues: u32,
    ) -> io::Result<()> {
        let default = even(table.len(), receive_queues) == table;
        let table = if default { &[] } else { table };
        let size = u32::try_from(table.len()).map_err(io::Error::other)?;
        let mut words = vec![SET, size];
        words.extend(table);
        self.call(interface, &mut words)
    }
}

/// An even spread, as drivers make it (`ethtool_rxfh_indir_default`).
pub(crate) fn even(entries: usize, queues: u32) -> Vec<u32> {
    (0..queues.max(1)).cycle().take(entries).collect()
}

/// An even spread over some queues, as the command ethtool makes it with equal weights.
pub(crate) fn blocks(entries: usize, queues: Queues) -> Vec<u32> {
    let queues: Vec<u32> = queues.iter().collect();
    let share = |entry| queues.get(entry * queues.len() / entries).copied();
    (0..entries).filter_map(share).collect()
}
