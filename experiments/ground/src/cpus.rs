//! Lists of CPUs as the kernel writes them (`0-1,4`), and pinning the calling thread to one.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A set of CPUs in ascending order, never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(Vec<usize>);

impl CpuList {
    /// The list of these CPUs, or `None` if there are none.
    pub fn of(cpus: impl IntoIterator<Item = usize>) -> Option<Self> {
        let mut cpus: Vec<_> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        (!cpus.is_empty()).then_some(Self(cpus))
    }

    /// The CPU at `index`; starts again from the first after the last.
    pub fn round_robin(&self, index: usize) -> Self {
        Self(vec![self.0[index % self.0.len()]])
    }

    /// The CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }

    /// Whether the CPU is in the list.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// Pins the calling thread to exactly these CPUs.
    ///
    /// # Errors
    /// When one of the CPUs is absent, offline or outside the process's cpuset.
    pub fn pin_current_thread(&self) -> Result<()> {
        let mut wanted = CpuSet::new();
        for &cpu in &self.0 {
            wanted.set(cpu);
        }
        sched_setaffinity(None, &wanted).with_context(|| format!("cannot run on CPUs {self}"))?;
        // The kernel silently drops CPUs that it does not have, so read back which ones it kept.
        let kept = Self::of_current_thread()?;
        if kept != *self {
            bail!("cannot run on CPUs {self}: only {kept} can be used here");
        }
        Ok(())
    }

    /// Checks that threads can be pinned to these CPUs, before any thread needs it.
    ///
    /// # Errors
    /// As [`Self::pin_current_thread`].
    pub fn check(&self) -> Result<()> {
        let before = sched_getaffinity(None).context("cannot read this thread's CPU affinity")?;
        let outcome = self.pin_current_thread();
        sched_setaffinity(None, &before).context("cannot restore this thread's CPU affinity")?;
        outcome
    }

    fn of_current_thread() -> Result<Self> {
        let set = sched_getaffinity(None).context("cannot read this thread's CPU affinity")?;
        Ok(Self((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()))
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |part: &str| format!("{part:?} is not a CPU or a range; write a list like 0-1,4");
        let mut cpus = Vec::new();
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: usize = first.parse().map_err(|_| bad(part))?;
            let last: usize = last.parse().map_err(|_| bad(part))?;
            if first > last {
                return Err(bad(part));
            }
            if last >= CpuSet::MAX_CPU {
                return Err(format!("CPU {last} is beyond the last supported one, 1023"));
            }
            cpus.extend(first..=last);
        }
        Self::of(cpus).ok_or_else(|| bad(text))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        for (index, run) in runs.enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match run {
                [only] => write!(f, "{comma}{only}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

/// CPUs as a plain comma-separated list, without ranges: `2,3`.
pub fn joined(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_back_in_their_shortest_form() {
        for (text, normal) in [("0", "0"), ("3,1,2", "1-3"), ("0-1,4,4-5", "0-1,4-5"), ("7\n", "7")]
        {
            assert_eq!(text.parse::<CpuList>().unwrap().to_string(), normal);
        }
    }

    #[test]
    fn bad_lists_name_the_part() {
        for (text, part) in [("", "\"\""), ("0,x", "\"x\""), ("3-1", "\"3-1\""), ("-1", "\"-1\"")] {
            let error = text.parse::<CpuList>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!("0-4096".parse::<CpuList>().unwrap_err().contains("beyond"));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_and_changes_nothing() {
        let before = CpuList::of_current_thread().unwrap();
        assert!("1023".parse::<CpuList>().unwrap().check().is_err());
        assert!(format!("{},1023", before.0[0]).parse::<CpuList>().unwrap().check().is_err());
        assert_eq!(CpuList::of_current_thread().unwrap(), before);
    }
}
