//! A cgroup of a run and its limits, as the kernel's files take them
//! (Documentation/admin-guide/cgroup-v2.rst).

use std::str::FromStr;
use std::time::Duration;

use steer_ground::cpus::CpuList;

use super::settings::{split, within};

const HELP: &str = "write a cgroup like \"a/b weight=300 idle=1 max=20% period-ms=100 burst-ms=10 \
                    cpus=0-1\"; only the path is needed";
/// The kernel's default period of cpu.max.
const PERIOD: Duration = Duration::from_millis(100);

/// A cgroup and its limits. `None` leaves the kernel's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    /// Its path below the cgroups of the run.
    pub path: String,
    /// cpu.weight, 1 to 10000.
    pub weight: Option<u16>,
    /// cpu.idle.
    pub idle: bool,
    /// cpu.max.
    pub max: Option<Max>,
    /// cpu.max.burst.
    pub burst: Option<Duration>,
    /// cpuset.cpus.
    pub cpus: Option<CpuList>,
}

/// A limit of CPU time (cpu.max).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Max {
    /// In percent of one CPU.
    pub percent: u32,
    /// The time in which the cgroup gets this once.
    pub period: Duration,
}

impl Max {
    /// CPU time per period.
    pub fn quota(self) -> Duration {
        self.period * self.percent / 100
    }
}

impl Cgroup {
    /// Whether a group in the cgroup at `path` counts against this cgroup's limits.
    pub fn covers(&self, path: &str) -> bool {
        let rest = path.strip_prefix(&self.path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The files to write, and their values, in this order.
    pub(super) fn files(&self) -> Vec<(&'static str, String)> {
        let micros = |time: Duration| time.as_micros();
        let max = self.max.map(|max| format!("{} {}", micros(max.quota()), micros(max.period)));
        let all = [
            ("cpu.weight", self.weight.map(|weight| weight.to_string())),
            ("cpu.idle", self.idle.then(|| "1".to_owned())),
            ("cpu.max", max),
            ("cpu.max.burst", self.burst.map(|burst| micros(burst).to_string())),
            ("cpuset.cpus", self.cpus.as_ref().map(CpuList::to_string)),
        ];
        all.into_iter().filter_map(|(file, value)| Some((file, value?))).collect()
    }
}

impl FromStr for Cgroup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, settings) = split(text, HELP)?;
        if path.split('/').any(|part| ["", ".", ".."].contains(&part)) {
            return Err(format!("{path:?} is no path of a cgroup; {HELP}"));
        }
        let mut cgroup = Self {
            path: path.to_owned(),
            weight: None,
            idle: false,
            max: None,
            burst: None,
            cpus: None,
        };
        let (mut percent, mut period) = (None, None);
        for (key, value) in settings {
            let set = match key {
                "weight" => {
                    within(value, 1, 10_000).map(|number| cgroup.weight = Some(number as u16))
                }
                "idle" => within(value, 0, 1).map(|number| cgroup.idle = number == 1),
                "max" => quota(value).map(|number| percent = Some(number)),
                "period-ms" => within(value, 1, 1000).map(|number| period = Some(number as u64)),
                "burst-ms" => within(value, 1, 10_000)
                    .map(|number| cgroup.burst = Some(Duration::from_millis(number as u64))),
                "cpus" => value.parse().map(|cpus| cgroup.cpus = Some(cpus)),
                _ => return Err(format!("{path}: {key:?} is no setting of a cgroup; {HELP}")),
            };
            set.map_err(|error| format!("{path}: {key}={value}: {error}"))?;
        }
        let period = period.map(Duration::from_millis);
        cgroup.max = percent.map(|percent| Max { percent, period: period.unwrap_or(PERIOD) });
        if cgroup.max.is_none() && (period.is_some() || cgroup.burst.is_some()) {
            return Err(format!("{path}: period-ms and burst-ms need max; {HELP}"));
        }
        Ok(cgroup)
    }
}

/// The percentage of `250%`.
fn quota(value: &str) -> Result<u32, String> {
    let number = value.strip_suffix('%').ok_or("write a percentage of one CPU, like 250%")?;
    within(number, 1, 100_000).map(|number| number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_becomes_a_file() {
        let text = "a/b weight=300 idle=1 max=20% period-ms=50 burst-ms=5 cpus=0,1";
        let cgroup: Cgroup = text.parse().unwrap();
        let expected = [
            ("cpu.weight", "300"),
            ("cpu.idle", "1"),
            ("cpu.max", "10000 50000"),
            ("cpu.max.burst", "5000"),
            ("cpuset.cpus", "0-1"),
        ];
        assert_eq!(cgroup.files(), expected.map(|(file, value)| (file, value.to_owned())));
        assert_eq!("a".parse::<Cgroup>().unwrap().files(), []);
        assert_eq!("a max=250%".parse::<Cgroup>().unwrap().files()[0].1, "250000 100000");
    }

    #[test]
    fn limits_hold_for_all_below() {
        let cgroup: Cgroup = "a/b".parse().unwrap();
        for (path, covered) in [("a/b", true), ("a/b/c", true), ("a", false), ("a/bc", false)] {
            assert_eq!(cgroup.covers(path), covered, "{path}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            ("", "has no name; write a cgroup like"),
            ("/a", "\"/a\" is no path of a cgroup"),
            ("a/../b", "is no path of a cgroup"),
            ("a weight=0", "a: weight=0: write a whole number from 1 to 10000"),
            ("a max=20", "a: max=20: write a percentage of one CPU, like 250%"),
            ("a max=0%", "a: max=0%: write a whole number from 1"),
            ("a burst-ms=5", "a: period-ms and burst-ms need max"),
            ("a shares=5", "a: \"shares\" is no setting of a cgroup"),
        ] {
            let error = text.parse::<Cgroup>().unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
