//! Whether a CPU has been offline meanwhile. When the last CPU of an interrupt goes offline, the
//! kernel sends the interrupt to all others and leaves it so: no program has set that value.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use steer_topology::CpuSet;

/// For each online CPU a number that changes when it has been offline: that of its folder in sysfs,
/// which the kernel makes as the CPU comes.
pub(crate) type Births = BTreeMap<u32, u64>;

/// The present numbers.
pub(crate) fn read(root: &Path) -> Births {
    let folder = root.join("sys/devices/system/cpu");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let born = entries.filter_map(|entry| {
        let cpu = entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok()?;
        Some((cpu, fs::metadata(entry.path().join("topology")).ok()?.ino()))
    });
    born.collect()
}

/// Whether a thread that was bound to `cpus` may have come to `present` because all of these were
/// offline at some time: it may use all CPUs then, also those that are offline.
pub(crate) fn freed(cpus: &CpuSet, present: &CpuSet, then: &Births, now: &Births) -> bool {
    were_away(cpus, then, now) && then.keys().all(|cpu| present.contains(*cpu))
}

/// Whether an interrupt that went to `cpus` may have come to `present` because all of these were
/// offline at some time between `then` and `now`: it goes to others, among them all that stayed.
pub(crate) fn broke(cpus: &CpuSet, present: &CpuSet, then: &Births, now: &Births) -> bool {
    were_away(cpus, then, now)
        && cpus.is_disjoint(present)
        && then.keys().all(|cpu| !stayed(*cpu, then, now) || present.contains(*cpu))
}

/// Whether each of these CPUs has been offline.
fn were_away(cpus: &CpuSet, then: &Births, now: &Births) -> bool {
    let was_away = |cpu| then.contains_key(&cpu) && !stayed(cpu, then, now);
    !cpus.is_empty() && cpus.iter().all(was_away)
}

fn stayed(cpu: u32, then: &Births, now: &Births) -> bool {
    then.get(&cpu).is_some_and(|born| now.get(&cpu) == Some(born))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_kernel_does_counts() {
        let then = Births::from([(0, 10), (1, 11), (2, 12), (3, 13)]);
        let without_3 = Births::from([(0, 10), (1, 11), (2, 12)]);
        let again = Births::from([(0, 10), (1, 11), (2, 12), (3, 99)]);
        let broke = |cpus: &str, present: &str, now: &Births| {
            broke(&cpus.parse().unwrap(), &present.parse().unwrap(), &then, now)
        };
        assert!(broke("3", "0-2", &without_3));
        assert!(broke("3", "0-2", &again), "also once it is back");
        assert!(!broke("3", "0-2", &then), "it never left");
        assert!(!broke("3", "0-1", &again), "CPU 2 stayed, so the kernel would have named it");
        assert!(!broke("2-3", "0-1", &again), "CPU 2 stayed");
        assert!(!broke("3", "0-3", &again));
        assert!(!broke("", "0-2", &again));

        let freed = |cpus: &str, present: &str, now: &Births| {
            freed(&cpus.parse().unwrap(), &present.parse().unwrap(), &then, now)
        };
        assert!(freed("3", "0-3", &without_3), "also the one that is offline");
        assert!(freed("3", "0-7", &again), "also those that never were online");
        assert!(!freed("3", "0-2", &again), "somebody has left out CPU 3");
        assert!(!freed("3", "0-3", &then), "it never left");
    }

    #[test]
    fn this_hosts_cpus_have_numbers() {
        let births = read(Path::new("/"));
        assert!(!births.is_empty());
        assert_eq!(births, read(Path::new("/")), "which stay as long as the CPU does");
    }
}
