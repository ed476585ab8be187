//! Cgroups: what they used, and what they may use.

use std::fs;
use std::path::{Path, PathBuf};

use steer_policy::Effective;
use steer_top::CgroupUse;

use super::rates::Rates;
use crate::cgroups;

/// Cgroups that are shown.
const MOST: usize = 200;

/// Reads the cgroup tree.
#[derive(Debug)]
pub(super) struct Cgroups {
    root: PathBuf,
    rates: Rates,
}

impl Cgroups {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, rates: Rates::default() }
    }

    /// The cgroups that used CPU time, most first.
    pub(super) fn read(&mut self, seconds: f64, policy: Option<&Effective>) -> Vec<CgroupUse> {
        let tree = cgroups::walk(&self.root).unwrap_or_default();
        let mut found = Vec::new();
        for cgroup in tree.cgroups().iter().filter(|cgroup| !cgroup.path.is_empty()) {
            let folder = self.root.join(&cgroup.path);
            let stat = fs::read_to_string(folder.join("cpu.stat")).unwrap_or_default();
            let mut per_s = |name: &str| {
                let count = field(&stat, name).unwrap_or(0);
                // microseconds per second
                self.rates.of(format!("{name} {}", cgroup.path), count, seconds) / 1e6
            };
            let (cpus_used, throttled) = (per_s("usage_usec"), per_s("throttled_usec"));
            if cpus_used == 0.0 && throttled == 0.0 {
                continue;
            }
            found.push(CgroupUse {
                cpus_used,
                throttled,
                weight: number(&folder.join("cpu.weight")),
                quota_cpus: quota(&fs::read_to_string(folder.join("cpu.max")).unwrap_or_default()),
                rules: policy.map_or(Vec::new(), |policy| rules(policy, &cgroup.path, None)),
                path: cgroup.path.clone(),
            });
        }
        found.sort_by(|left, right| right.cpus_used.total_cmp(&left.cpus_used));
        found.truncate(MOST);
        found
    }
}

/// The values that rules give a cgroup, or a process in it, with the rules' places.
pub(super) fn rules(policy: &Effective, cgroup: &str, process: Option<&str>) -> Vec<String> {
    let explained = policy.explain(cgroup, process);
    let of_rule = explained.values.into_iter().filter_map(|it| Some((it.key, it.value?, it.from?)));
    of_rule.map(|(key, value, from)| format!("{key}={value} ({})", from.at)).collect()
}

fn number(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A field of cpu.stat.
fn field(stat: &str, name: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// The CPUs that a cpu.max allows; `None` without a limit.
fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_fields_are_read() {
        assert_eq!(quota("150000 100000\n"), Some(1.5));
        assert_eq!(quota("max 100000\n"), None);
        let stat = "usage_usec 12\nuser_usec 9\nnr_throttled 3\nthrottled_usec 7\n";
        assert_eq!((field(stat, "usage_usec"), field(stat, "throttled_usec")), (Some(12), Some(7)));
        assert_eq!(field("", "usage_usec"), None);
    }
}
