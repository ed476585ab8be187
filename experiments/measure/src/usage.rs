//! CPU time by what it was spent on, from /proc/stat. The `procfs` crate also reads this file, but
//! drops the CPU numbers, which have gaps if CPUs are offline.

use std::collections::BTreeMap;
use std::fs;
use std::iter::Sum;
use std::ops::Add;

use anyhow::{Context, Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fields of a CPU's line that are used here: user, nice, system, idle, iowait, irq, softirq,
/// steal. The next fields, guest times, are part of user and nice.
const FIELDS: usize = 8;

/// Ticks since boot of each online CPU, by CPU number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticks(BTreeMap<usize, [u64; FIELDS]>);

/// Seconds of CPU time by what they were spent on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// User space, including niced threads and virtual machines.
    pub user_s: f64,
    /// The kernel in a thread's context: system calls, faults, kernel threads.
    pub system_s: f64,
    /// Softirqs: with networking, mostly what NAPI and TCP do with received packets.
    pub softirq_s: f64,
    /// Hardware interrupts; 0 on kernels that do not account for them (IRQ_TIME_ACCOUNTING).
    pub irq_s: f64,
    /// Time that the hypervisor took while this CPU had work.
    pub steal_s: f64,
    /// Idle while a thread waited for a disk.
    pub iowait_s: f64,
    /// Idle.
    pub idle_s: f64,
}

impl Ticks {
    /// Reads /proc/stat.
    ///
    /// # Errors
    /// When it cannot be read or has another format.
    pub(crate) fn read() -> Result<Self> {
        const PATH: &str = "/proc/stat";
        let text = fs::read_to_string(PATH).with_context(|| format!("cannot read {PATH}"))?;
        Self::parse(&text).with_context(|| format!("{PATH} has an unknown format"))
    }

    /// Reads the text of /proc/stat.
    ///
    /// # Errors
    /// When it has another format.
    pub fn parse(text: &str) -> Result<Self> {
        let mut cpus = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(number) = words.next().and_then(|name| name.strip_prefix("cpu")) else {
                continue;
            };
            // The line with the sum over all CPUs has no number.
            if number.is_empty() {
                continue;
            }
            let cpu = number.parse().with_context(|| format!("{line:?}: no CPU number"))?;
            let mut ticks = [0; FIELDS];
            for field in &mut ticks {
                let word = words.next().with_context(|| format!("{line:?}: too short"))?;
                *field = word.parse().with_context(|| format!("{line:?}: {word:?}"))?;
            }
            cpus.insert(cpu, ticks);
        }
        if cpus.is_empty() {
            bail!("it lists no CPU");
        }
        Ok(Self(cpus))
    }

    /// The CPUs that are online.
    pub(crate) fn cpus(&self) -> impl Iterator<Item = usize> {
        self.0.keys().copied()
    }

    /// What a CPU did between an earlier reading and this one. `None` if it was offline in one of
    /// them.
    pub fn since(&self, earlier: &Self, cpu: usize, ticks_per_s: u64) -> Option<CpuTime> {
        let (before, after) = (earlier.0.get(&cpu)?, self.0.get(&cpu)?);
        let mut seconds = [0.0; FIELDS];
        for (index, second) in seconds.iter_mut().enumerate() {
            // Idle and iowait are estimates that may decrease (proc_stat(5)).
            let ticks = after[index].saturating_sub(before[index]);
            *second = ticks as f64 / ticks_per_s as f64;
        }
        let [user, nice, system_s, idle_s, iowait_s, irq_s, softirq_s, steal_s] = seconds;
        let user_s = user + nice;
        Some(CpuTime { user_s, system_s, softirq_s, irq_s, steal_s, iowait_s, idle_s })
    }
}

impl CpuTime {
    /// Time in which applications and the kernel worked: the denominator of throughput per core
    /// (host-network-stack paper, section 2.2, which takes it from sysstat). Excludes waiting, and
    /// time that the hypervisor took.
    pub(crate) fn busy_s(&self) -> f64 {
        self.user_s + self.system_s + self.softirq_s + self.irq_s
    }
}

impl Add for CpuTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            user_s: self.user_s + other.user_s,
            system_s: self.system_s + other.system_s,
            softirq_s: self.softirq_s + other.softirq_s,
            irq_s: self.irq_s + other.irq_s,
            steal_s: self.steal_s + other.steal_s,
            iowait_s: self.iowait_s + other.iowait_s,
            idle_s: self.idle_s + other.idle_s,
        }
    }
}

impl Sum for CpuTime {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "cpu  30 1 20 500 5 2 7 3 0 0\ncpu0 10 1 15 300 5 1 4 2 0 0\n\
        cpu2 20 0 5 200 0 1 3 1 0 0\nintr 12345 0\nctxt 99\nbtime 1\n";

    #[test]
    fn cpus_keep_their_numbers() {
        let ticks = Ticks::parse(STAT).unwrap();
        assert_eq!(ticks.cpus().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(ticks.0[&0], [10, 1, 15, 300, 5, 1, 4, 2]);
    }

    #[test]
    fn other_formats_are_no_zeros() {
        for (text, why) in [
            ("", "lists no CPU"),
            ("cpu 1 2 3\n", "lists no CPU"),
            ("cpu0 1 2 3\n", "too short"),
            ("cpu0 1 2 3 4 5 6 seven 8\n", "seven"),
            ("cpux 1 2 3 4 5 6 7 8\n", "number"),
        ] {
            let error = format!("{:#}", Ticks::parse(text).unwrap_err());
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_cpu_that_went_offline_has_no_times() {
        let before = Ticks::parse(STAT).unwrap();
        let after = Ticks::parse(&STAT.replace("cpu2", "cpu1")).unwrap();
        assert!(after.since(&before, 0, 100).is_some());
        assert_eq!(after.since(&before, 1, 100), None);
        assert_eq!(after.since(&before, 2, 100), None);
    }

    proptest! {
        /// A difference is what was added to each field, in seconds. Busy time is the sum of the
        /// four kinds of work.
        #[test]
        fn differences_are_what_was_added(
            start in prop::array::uniform8(0u64..1 << 40),
            added in prop::array::uniform8(0u64..1 << 30),
        ) {
            let line = |ticks: [u64; FIELDS]| {
                let words = ticks.map(|ticks| ticks.to_string()).join(" ");
                Ticks::parse(&format!("cpu7 {words} 0 0\n")).unwrap()
            };
            let mut end = start;
            for (ticks, more) in end.iter_mut().zip(added) {
                *ticks += more;
            }
            let time = line(end).since(&line(start), 7, 100).unwrap();
            let [user, nice, system, idle, iowait, irq, softirq, steal] =
                added.map(|ticks| ticks as f64 / 100.0);
            prop_assert_eq!(time.user_s, user + nice);
            prop_assert_eq!(
                [time.system_s, time.idle_s, time.iowait_s, time.irq_s, time.softirq_s, time.steal_s],
                [system, idle, iowait, irq, softirq, steal]
            );
            prop_assert!((time.busy_s() - (user + nice + system + irq + softirq)).abs() < 1e-6);
            prop_assert_eq!(line(start).since(&line(end), 7, 100).unwrap().idle_s, 0.0);
        }
    }
}
