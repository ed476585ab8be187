//! A set of receive queues, small enough to be part of a setting's name.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use steer_topology::CpuSet;

const WORDS: usize = 2;

/// Receive queues, by number. Written as CPUs are: `0-3,8`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Queues([u64; WORDS]);

impl Queues {
    /// Only queues with numbers below this are in a set: a NIC has seldom more.
    pub const MAX: u32 = 64 * WORDS as u32;

    /// All of these; `None` if a number is too large.
    pub(crate) fn all(queues: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut fit = true;
        let each = queues.into_iter().inspect(|queue| fit &= *queue < Self::MAX);
        let set = each.collect();
        fit.then_some(set)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Their numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..Self::MAX).filter(|queue| self.0[(queue / 64) as usize] >> (queue % 64) & 1 == 1)
    }
}

impl FromIterator<u32> for Queues {
    fn from_iter<T: IntoIterator<Item = u32>>(queues: T) -> Self {
        let mut set = Self::default();
        for queue in queues.into_iter().filter(|queue| *queue < Self::MAX) {
            set.0[(queue / 64) as usize] |= 1 << (queue % 64);
        }
        set
    }
}

impl fmt::Display for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().collect::<CpuSet>().fmt(f)
    }
}

impl Serialize for Queues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Queues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list: CpuSet = String::deserialize(deserializer)?.parse().map_err(D::Error::custom)?;
        Ok(list.iter().collect())
    }
}
