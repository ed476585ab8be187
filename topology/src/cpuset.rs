//! A set of CPU numbers, and the project's only reader and writer of CPU lists in the kernel's
//! form: `0-3,8`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The largest CPU number in a list: the kernel's `NR_CPUS` is at most 8192. The bound keeps a
/// typing error such as `0-99999999` from becoming a gigabyte of numbers.
pub const MAX_CPU: u32 = 8191;

/// An ordered set of CPU numbers, as in `/proc/cpuinfo`.
///
/// Text, JSON and the files in sysfs and procfs use the same form: `0-3,8`. The empty set is the
/// empty string. Spaces around the parts are accepted, but never written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet(BTreeSet<u32>);

/// Why text is not a CPU list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseCpuSetError {
    /// A part that is neither a number nor a range.
    #[error("\"{0}\" is not a CPU number or range; write CPUs as in 0-3,8")]
    NotACpu(String),
    /// A text that is not a hexadecimal mask.
    #[error("\"{0}\" is not a CPU mask; the kernel writes masks as in 00000001,0000000f")]
    NotAMask(String),
    /// A range whose end lies before its start.
    #[error("the range \"{0}\" runs backwards; write the smaller number first")]
    Backwards(String),
    /// A number beyond [`MAX_CPU`].
    #[error("CPU {0} is too large; Linux numbers its CPUs up to {MAX_CPU}")]
    TooLarge(String),
}

impl CpuSet {
    /// The empty set.
    pub fn new() -> CpuSet {
        CpuSet::default()
    }

    /// The number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The smallest CPU number.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// The largest CPU number.
    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Adds one CPU. False if it was already in the set.
    pub fn insert(&mut self, cpu: u32) -> bool {
        self.0.insert(cpu)
    }

    /// The CPU numbers, smallest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// CPUs in this set or in `other`.
    pub fn union(&self, other: &CpuSet) -> CpuSet {
        CpuSet(&self.0 | &other.0)
    }

    /// CPUs in both sets.
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        CpuSet(&self.0 & &other.0)
    }

    /// CPUs in this set but not in `other`.
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        CpuSet(&self.0 - &other.0)
    }

    /// Whether every CPU of this set is in `other`.
    pub fn is_subset(&self, other: &CpuSet) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Whether the sets have no CPU in common.
    pub fn is_disjoint(&self, other: &CpuSet) -> bool {
        self.0.is_disjoint(&other.0)
    }

    /// The set as ranges of consecutive numbers, `(first, last)`.
    fn runs(&self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => runs.push((cpu, cpu)),
            }
        }
        runs
    }
}

impl FromStr for CpuSet {
    type Err = ParseCpuSetError;

    fn from_str(text: &str) -> Result<CpuSet, ParseCpuSetError> {
        let mut cpus = BTreeSet::new();
        if text.trim().is_empty() {
            return Ok(CpuSet(cpus));
        }
        for part in text.split(',').map(str::trim) {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(part, first)?, number(part, last)?),
                None => (number(part, part)?, number(part, part)?),
            };
            if last < first {
                return Err(ParseCpuSetError::Backwards(part.to_owned()));
            }
            cpus.extend(first..=last);
        }
        Ok(CpuSet(cpus))
    }
}

/// Reads one CPU number. Errors quote `part`.
fn number(part: &str, digits: &str) -> Result<u32, ParseCpuSetError> {
    let digits = digits.trim();
    // `u32::from_str` alone would accept "+1".
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseCpuSetError::NotACpu(part.to_owned()));
    }
    match digits.parse() {
        Ok(cpu) if cpu <= MAX_CPU => Ok(cpu),
        _ => Err(ParseCpuSetError::TooLarge(digits.to_owned())),
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (first, last)) in self.runs().into_iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// Does not check the numbers. [`MAX_CPU`] limits what is read from text, and
/// [`Machine::validate`](crate::Machine::validate) limits the CPUs of a machine.
impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> CpuSet {
        CpuSet(cpus.into_iter().collect())
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CpuSet, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

mod mask;
#[cfg(test)]
mod tests;
