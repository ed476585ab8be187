//! A group of equal threads: where, at what priority and when they run.

use std::str::FromStr;
use std::time::Duration;

use steer_ground::cpus::CpuList;
use steer_ground::word::Word;

use super::settings::{split, within};

const HELP: &str = "write a group like \"NAME threads=2 cgroup=a/b cpus=0-1 policy=idle nice=5 \
                    run-ms=2 sleep-ms=8 from=1 late-ms=500\"; only the name is needed";
/// Most threads of a group.
const MOST_THREADS: i64 = 256;
/// Longest time of one setting, in milliseconds.
const LONGEST_MS: i64 = 60_000;

/// A group of threads that are all alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name in the report. The threads are called so as well.
    pub name: String,
    /// How many threads.
    pub threads: u16,
    /// The cgroup of the group's process, as a path below the cgroups of the run. `None`: the
    /// cgroup that the program was started in.
    pub cgroup: Option<String>,
    /// The CPUs that the threads may use. `None`: all.
    pub cpus: Option<CpuList>,
    /// Scheduling policy.
    pub policy: Policy,
    /// Nice value, -20 to 19.
    pub nice: i32,
    /// The CPU time that a thread takes, and how long it sleeps after that. `None`: it never
    /// sleeps.
    pub duty: Option<(Duration, Duration)>,
    /// CPUs on which the threads spin before they go to `cpus`.
    pub from: Option<CpuList>,
    /// How long after the others the threads begin, or come from other CPUs.
    pub late: Duration,
}

/// Scheduling policy of a thread (sched(7)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_OTHER.
    #[default]
    Other,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO of the lowest priority.
    Fifo,
}

impl Word for Policy {
    const ALL: &'static [Self] = &[Self::Other, Self::Batch, Self::Idle, Self::Fifo];

    fn word(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Batch => "batch",
            Self::Idle => "idle",
            Self::Fifo => "fifo",
        }
    }
}

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, settings) = split(text, HELP)?;
        let mut group = Self {
            name: name.to_owned(),
            threads: 1,
            cgroup: None,
            cpus: None,
            policy: Policy::default(),
            nice: 0,
            duty: None,
            from: None,
            late: Duration::ZERO,
        };
        let (mut run, mut sleep) = (None, None);
        for (key, value) in settings {
            let set = match key {
                "threads" => {
                    within(value, 1, MOST_THREADS).map(|number| group.threads = number as u16)
                }
                "cgroup" => {
                    group.cgroup = Some(value.to_owned());
                    Ok(())
                }
                "cpus" => value.parse().map(|cpus| group.cpus = Some(cpus)),
                "policy" => policy(value).map(|policy| group.policy = policy),
                "nice" => within(value, -20, 19).map(|number| group.nice = number as i32),
                "run-ms" => milliseconds(value).map(|time| run = Some(time)),
                "sleep-ms" => milliseconds(value).map(|time| sleep = Some(time)),
                "from" => value.parse().map(|cpus| group.from = Some(cpus)),
                "late-ms" => milliseconds(value).map(|time| group.late = time),
                _ => return Err(format!("{name}: {key:?} is no setting of a group; {HELP}")),
            };
            set.map_err(|error| format!("{name}: {key}={value}: {error}"))?;
        }
        group.duty = match (run, sleep) {
            (Some(run), Some(sleep)) => Some((run, sleep)),
            (None, None) => None,
            _ => return Err(format!("{name}: run-ms and sleep-ms go together; {HELP}")),
        };
        if group.from.is_some() && (group.cpus.is_none() || group.late.is_zero()) {
            return Err(format!("{name}: from needs cpus (where to go) and late-ms (when)"));
        }
        Ok(group)
    }
}

fn policy(word: &str) -> Result<Policy, String> {
    Policy::of_word(word).ok_or_else(|| {
        let all: Vec<_> = Policy::ALL.iter().map(|policy| policy.word()).collect();
        format!("write one of {}", all.join(", "))
    })
}

fn milliseconds(value: &str) -> Result<Duration, String> {
    within(value, 1, LONGEST_MS).map(|number| Duration::from_millis(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_enough() {
        let group: Group = "heavy".parse().unwrap();
        assert_eq!((group.name.as_str(), group.threads, group.nice), ("heavy", 1, 0));
        assert_eq!((group.cgroup, group.cpus, group.policy), (None, None, Policy::Other));
    }

    #[test]
    fn every_setting_is_read() {
        let text = "x threads=4 cgroup=a/b cpus=0-1,3 policy=idle nice=-5 run-ms=2 sleep-ms=8 \
                    from=2 late-ms=500";
        let ms = Duration::from_millis;
        let expected = Group {
            name: "x".into(),
            threads: 4,
            cgroup: Some("a/b".into()),
            cpus: CpuList::of([0, 1, 3]),
            policy: Policy::Idle,
            nice: -5,
            duty: Some((ms(2), ms(8))),
            from: CpuList::of([2]),
            late: ms(500),
        };
        assert_eq!(text.parse::<Group>().unwrap(), expected);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            ("", "has no name; write a group like"),
            ("nice=5", "has no name"),
            ("x nice", "\"nice\": write a group like"),
            ("x nice=20", "x: nice=20: write a whole number from -20 to 19"),
            ("x threads=0", "x: threads=0: write a whole number from 1 to 256"),
            ("x policy=rr", "x: policy=rr: write one of other, batch, idle, fifo"),
            ("x cpus=a", "x: cpus=a: \"a\" is not a CPU or a range"),
            ("x colour=red", "x: \"colour\" is no setting of a group"),
            ("x nice=1 nice=1", "x: nice is given twice"),
            ("x run-ms=2", "x: run-ms and sleep-ms go together"),
            ("x from=1 cpus=0", "x: from needs cpus"),
        ] {
            let error = text.parse::<Group>().unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
