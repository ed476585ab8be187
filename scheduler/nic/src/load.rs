//! What interrupts and softirq cost CPUs: `/proc/stat` and `/proc/net/softnet_stat`, as differences
//! between two looks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use steer_topology::CpuSet;

/// Softirq is overloaded if it runs out of time this often per packet (katalyst).
const OVERLOAD: f64 = 0.1;

/// The counters of one look.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// By CPU: time on interrupts and softirq, and all time, in the kernel's ticks.
    times: BTreeMap<u32, (u64, u64)>,
    /// By CPU: packets, and how often softirq ran out of time with packets left.
    packets: BTreeMap<u32, (u64, u64)>,
}

impl Load {
    /// The present counters; `None` if they cannot be read.
    pub fn now() -> Option<Load> {
        Load::below(Path::new("/"))
    }

    fn below(root: &Path) -> Option<Load> {
        let times = fs::read_to_string(root.join("proc/stat")).ok()?;
        let packets = fs::read_to_string(root.join("proc/net/softnet_stat")).ok()?;
        Some(Load {
            times: times.lines().filter_map(times_of).collect(),
            packets: (0..).zip(packets.lines()).filter_map(packets_of).collect(),
        })
    }

    /// Since `before`, the mean share of their time that `cpus` spent on interrupts and softirq,
    /// and whether softirq ran out of time on them. `None` if no time has passed.
    pub fn since(&self, before: &Load, cpus: &CpuSet) -> Option<(f64, bool)> {
        let sum = |of: &BTreeMap<u32, (u64, u64)>| {
            let known = cpus.iter().filter_map(|cpu| of.get(&cpu));
            known.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let difference = |now: (u64, u64), then: (u64, u64)| {
            (now.0.saturating_sub(then.0) as f64, now.1.saturating_sub(then.1) as f64)
        };
        let (busy, all) = difference(sum(&self.times), sum(&before.times));
        let (packets, squeezed) = difference(sum(&self.packets), sum(&before.packets));
        (all > 0.0).then(|| (busy / all, packets > 0.0 && squeezed / packets >= OVERLOAD))
    }
}

/// "cpu3 user nice system idle iowait irq softirq steal …".
fn times_of(line: &str) -> Option<(u32, (u64, u64))> {
    let mut words = line.split_whitespace();
    let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    // guest time, the ninth and tenth, is in user time already
    let ticks: Vec<u64> = words.take(8).filter_map(|word| word.parse().ok()).collect();
    Some((cpu, (ticks.get(5)? + ticks.get(6)?, ticks.iter().sum())))
}

/// Hexadecimal: packets, dropped, times squeezed, …, the CPU (13th, since 5.10: lines of offline
/// CPUs are left out).
fn packets_of((index, line): (u32, &str)) -> Option<(u32, (u64, u64))> {
    let words: Vec<u64> =
        line.split_whitespace().filter_map(|word| u64::from_str_radix(word, 16).ok()).collect();
    let cpu = words.get(12).and_then(|cpu| u32::try_from(*cpu).ok()).unwrap_or(index);
    Some((cpu, (*words.first()?, *words.get(2)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(softirq: u64, idle: u64, packets: u64, squeezed: u64) -> Load {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/net")).unwrap();
        let stat = format!(
            "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 0 0 0 100 0 0 0 0 0 0\n\
             cpu2 10 0 20 {idle} 0 5 {softirq} 0 7 0\nintr 5 0 0\n"
        );
        fs::write(root.path().join("proc/stat"), stat).unwrap();
        let row = |packets: u64, squeezed: u64, cpu: u64| {
            let zeros = "00000000 ".repeat(9);
            format!("{packets:08x} 00000000 {squeezed:08x} {zeros}{cpu:08x} 00000000\n")
        };
        let rows = row(1, 0, 0) + &row(packets, squeezed, 2);
        fs::write(root.path().join("proc/net/softnet_stat"), rows).unwrap();
        Load::below(root.path()).unwrap()
    }

    #[test]
    fn shares_are_differences_of_the_named_cpus() {
        let (before, after) = (host(0, 0, 0, 0), host(30, 70, 1000, 99));
        let cpus = |list: &str| list.parse().unwrap();
        assert_eq!(after.since(&before, &cpus("2")), Some((0.3, false)));
        assert_eq!(after.since(&before, &cpus("0")), None, "its clock stood still");
        let squeezed = host(30, 70, 1000, 100);
        assert_eq!(squeezed.since(&before, &cpus("2")), Some((0.3, true)));
    }

    #[test]
    fn this_hosts_counters_are_understood() {
        let load = Load::now().unwrap();
        assert!(!load.times.is_empty() && !load.packets.is_empty());
        assert!(load.times.values().all(|(busy, all)| busy <= all));
    }
}
