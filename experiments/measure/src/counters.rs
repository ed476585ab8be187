//! Groups of counters: opens them on every CPU, for the machine or for a cgroup, runs and reads
//! them.

use std::collections::BTreeMap;
use std::fs::File;

use anyhow::{Context, Result};
use indexmap::IndexMap;
use perf_event::{Builder, Counter, ReadFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::events::Event;
use super::rights;

/// What one event counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// The count. If the counter shared the hardware with others, it is scaled up to the whole
    /// time. Null if not measured.
    pub value: Option<u64>,
    /// Share of the time in which the counter ran. Null if the event is not available, or if the
    /// cgroup never ran.
    pub running_share: Option<f64>,
}

/// Counts by event.
pub(crate) type Counts = IndexMap<String, Count>;

/// The counts of a set of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// All measured CPUs together. A value is null if it is null on a CPU; `running_share` is the
    /// smallest of all CPUs.
    pub total: Counts,
    /// By CPU.
    pub by_cpu: BTreeMap<usize, Counts>,
}

/// Events that could not be counted on some CPU, and the reason.
pub(crate) type Unavailable = IndexMap<String, String>;

/// Counters on some CPUs.
pub(crate) struct Counters {
    names: Vec<&'static str>,
    groups: Vec<(usize, Group)>,
}

/// The events of a group that could be opened on a CPU. The first is the group leader.
struct Group(Vec<(&'static str, Counter)>);

impl Counters {
    /// Opens the groups on every CPU, without starting them. Leaves out events that the machine
    /// lacks, and records them.
    ///
    /// # Errors
    /// When the kernel refuses for a reason other than a missing event.
    pub(crate) fn open(
        groups: &[&[Event]],
        cpus: &[usize],
        cgroup: Option<&File>,
        unavailable: &mut Unavailable,
    ) -> Result<Self> {
        let names = groups.concat().iter().map(|event| event.name).collect();
        let mut open = Vec::new();
        for &cpu in cpus {
            for events in groups {
                open.push((cpu, Group::open(events, cpu, cgroup, unavailable)?));
            }
        }
        Ok(Self { names, groups: open })
    }

    /// Starts counting.
    ///
    /// # Errors
    /// When a CPU went offline.
    pub(crate) fn start(&mut self) -> Result<()> {
        self.each_leader("start", Counter::enable_group)
    }

    /// Stops counting.
    ///
    /// # Errors
    /// When a CPU went offline.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.each_leader("stop", Counter::disable_group)
    }

    fn each_leader(
        &mut self,
        what: &str,
        action: impl Fn(&mut Counter) -> std::io::Result<()>,
    ) -> Result<()> {
        for (cpu, Group(members)) in &mut self.groups {
            if let Some((name, leader)) = members.first_mut() {
                action(leader).with_context(|| format!("cannot {what} {name} on CPU {cpu}"))?;
            }
        }
        Ok(())
    }

    /// The counts so far.
    ///
    /// # Errors
    /// When a CPU went offline.
    pub(crate) fn read(&mut self) -> Result<Counted> {
        let unknown = Count { value: None, running_share: None };
        let all_unknown: Counts =
            self.names.iter().map(|name| (name.to_string(), unknown)).collect();
        let mut by_cpu: BTreeMap<usize, Counts> = BTreeMap::new();
        for (cpu, group) in &mut self.groups {
            let counts = by_cpu.entry(*cpu).or_insert_with(|| all_unknown.clone());
            group.read(counts).with_context(|| {
                format!("cannot read the counters of CPU {cpu}; did it go offline?")
            })?;
        }
        let total = self.names.iter().map(|name| {
            let counts = by_cpu.values().filter_map(|counts| counts.get(*name).copied());
            (name.to_string(), Count::sum(counts))
        });
        Ok(Counted { total: total.collect(), by_cpu })
    }
}

impl Group {
    fn open(
        events: &[Event],
        cpu: usize,
        cgroup: Option<&File>,
        unavailable: &mut Unavailable,
    ) -> Result<Self> {
        let mut members: Vec<(&'static str, Counter)> = Vec::new();
        for event in events {
            let mut builder: Builder<'_> = (event.builder)();
            builder.one_cpu(cpu).exclude_kernel(false).read_format(
                ReadFormat::GROUP | ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING,
            );
            match cgroup {
                Some(folder) => builder.observe_cgroup(folder),
                None => builder.any_pid(),
            };
            let opened = match members.first_mut() {
                Some((_, leader)) => builder.build_with_group(leader),
                None => builder.build(),
            };
            match opened {
                Ok(counter) => members.push((event.name, counter)),
                Err(error) => match rights::refusal(&error) {
                    Some(refusal) => return Err(refusal),
                    None if rights::is_missing(&error) => {
                        unavailable.entry(event.name.into()).or_insert(rights::why(&error));
                    }
                    None => {
                        let what = format!("cannot count {} on CPU {cpu}", event.name);
                        return Err(error).context(what);
                    }
                },
            }
        }
        Ok(Self(members))
    }

    fn read(&mut self, counts: &mut Counts) -> Result<()> {
        let Some((_, leader)) = self.0.first_mut() else { return Ok(()) };
        let data = leader.read_group()?;
        let nanos = |time: Option<std::time::Duration>| time.unwrap_or_default().as_nanos();
        let (enabled, running) = (nanos(data.time_enabled()), nanos(data.time_running()));
        for (name, counter) in &self.0 {
            let entry = data.get(counter).with_context(|| format!("{name} left its group"))?;
            counts.insert((*name).into(), Count::scaled(entry.value(), enabled, running));
        }
        Ok(())
    }
}

impl Count {
    /// Scales a raw count. `enabled` and `running` are the nanoseconds in which its counter was
    /// enabled, and in which it ran.
    fn scaled(raw: u64, enabled: u128, running: u128) -> Self {
        let value = match (enabled, running) {
            // The cgroup never ran, so it had no events.
            (0, _) => Some(raw),
            // Enabled, but the hardware was never free: the count is unknown.
            (_, 0) => None,
            _ => u64::try_from(u128::from(raw) * enabled / running).ok(),
        };
        let running_share = (enabled > 0).then(|| running as f64 / enabled as f64);
        Self { value, running_share }
    }

    fn sum(counts: impl Iterator<Item = Self> + Clone) -> Self {
        let value = counts.clone().map(|count| count.value).sum();
        let running_share = counts.filter_map(|count| count.running_share).reduce(f64::min);
        Self { value, running_share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_counter_that_never_ran_is_unknown_and_a_cgroup_that_never_ran_counted_nothing() {
        let starved = Count::scaled(0, 1000, 0);
        assert_eq!((starved.value, starved.running_share), (None, Some(0.0)));
        let asleep = Count::scaled(0, 0, 0);
        assert_eq!((asleep.value, asleep.running_share), (Some(0), None));
    }

    #[test]
    fn a_total_is_unknown_where_a_cpu_is() {
        let count = |value, running_share| Count { value, running_share };
        let known = [count(Some(2), Some(1.0)), count(Some(3), Some(0.5))];
        assert_eq!(Count::sum(known.into_iter()), count(Some(5), Some(0.5)));
        let part = [count(Some(2), Some(1.0)), count(None, None)];
        assert_eq!(Count::sum(part.into_iter()), count(None, Some(1.0)));
    }

    proptest! {
        /// A counter that ran all the time is not scaled. One that shared the hardware is scaled by
        /// its share.
        #[test]
        fn counts_scale_with_the_share_they_ran(
            raw in 0u64..1 << 40, running in 1u128..1 << 40, shared in 0u128..1 << 40,
        ) {
            prop_assert_eq!(Count::scaled(raw, running, running).value, Some(raw));
            let count = Count::scaled(raw, running + shared, running);
            let expected = raw as f64 * (running + shared) as f64 / running as f64;
            prop_assert!((count.value.unwrap() as f64 - expected).abs() <= 1.0 + expected * 1e-9);
            prop_assert!(count.running_share.unwrap() <= 1.0);
        }
    }
}
