//! Groups of threads that compete. Measures the CPU time of each group, as the kernel accounts it,
//! over one window in which all groups run.
//!
//! One process per group waits until all are set up. Then all threads become runnable at once, and
//! after a lead the window begins. This process has the highest real-time priority, so nothing that
//! it measures can delay it. It reads all CPU clocks when the window begins and when it ends. So no
//! late starter and no slow machine can bias the shares.

use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::event::{EventfdFlags, eventfd};
use serde::{Deserialize, Serialize};

use super::board::{self, Board, MOST_THREADS};
use super::cgroup::Cgroup;
use super::crew::Crew;
use super::group::Group;
use super::member;
use super::tree::Tree;

/// Highest real-time priority (sched(7)).
const HIGHEST: libc::c_int = 99;

/// What `contend --group` prints, as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupsReport {
    /// Length of the window in seconds.
    pub window_s: f64,
    /// The groups, in the order in which they were given.
    pub groups: Vec<GroupReport>,
}

/// What one group got in the window.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupReport {
    /// Its name.
    pub name: String,
    /// CPU time of all its threads together, in seconds.
    pub cpu_s: f64,
    /// Longest time that each thread waited for a CPU, in milliseconds. Sleep does not count, but
    /// interrupts and a thread that sleeps too long do.
    pub pauses_ms: Vec<f64>,
}

impl GroupReport {
    /// The longest pause of any of its threads, in milliseconds.
    pub fn longest_pause_ms(&self) -> f64 {
        self.pauses_ms.iter().copied().fold(0.0, f64::max)
    }
}

/// Runs the groups in their cgroups, and prints what each got.
pub(super) fn run(
    groups: &[Group],
    cgroups: &[Cgroup],
    lead: Duration,
    window: Duration,
) -> Result<()> {
    check(groups, cgroups, lead)?;
    let report = measure(groups, cgroups, lead, window)?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// Checks how groups, cgroups and the lead go together.
fn check(groups: &[Group], cgroups: &[Cgroup], lead: Duration) -> Result<()> {
    let threads: usize = groups.iter().map(|group| usize::from(group.threads)).sum();
    ensure!(threads <= MOST_THREADS, "{threads} threads are too many; at most {MOST_THREADS}");
    for (index, group) in groups.iter().enumerate() {
        let name = &group.name;
        ensure!(
            groups[..index].iter().all(|other| other.name != *name),
            "two groups are called {name}"
        );
        ensure!(
            group.late <= lead,
            "group {name} begins {:?} late, after the window began: raise --lead-ms",
            group.late
        );
        if let Some(path) = &group.cgroup {
            ensure!(
                cgroups.iter().any(|cgroup| cgroup.path == *path),
                "group {name} is in the cgroup {path}: add --cgroup {path}"
            );
        }
    }
    Ok(())
}

fn measure(
    groups: &[Group],
    cgroups: &[Cgroup],
    lead: Duration,
    window: Duration,
) -> Result<GroupsReport> {
    let board = Board::map()?;
    // The forked processes use it as long as they live.
    let go = eventfd(0, EventfdFlags::CLOEXEC).context("making an eventfd")?;
    let go: &'static OwnedFd = Box::leak(Box::new(go));
    // A host without cgroup2 can measure groups, too.
    let tree = if cgroups.is_empty() { None } else { Some(Tree::make(cgroups)?) };
    let mut crew = Crew::default();
    for group in groups {
        crew.add(group, tree.as_ref(), board, go.as_fd())?;
    }
    crew.until_ready(board)?;
    member::set_policy(libc::SCHED_FIFO, HIGHEST).context("--group needs root")?;
    rustix::io::write(go.as_fd(), &1u64.to_ne_bytes()).context("releasing the threads")?;
    thread::sleep(lead);
    board.open(window);
    let (begin, before) = (board::now(), crew.cpu_times()?);
    thread::sleep(window);
    let (end, after) = (board::now(), crew.cpu_times()?);
    let mut seats = 0..;
    let report = |(group, (before, after)): (&Group, (&Duration, &Duration))| GroupReport {
        name: group.name.clone(),
        cpu_s: after.saturating_sub(*before).as_secs_f64(),
        pauses_ms: seats
            .by_ref()
            .take(group.threads.into())
            .map(|seat| board.longest(seat).as_secs_f64() * 1e3)
            .collect(),
    };
    let groups = groups.iter().zip(before.iter().zip(&after)).map(report).collect();
    drop(crew);
    Ok(GroupsReport { window_s: (end - begin) as f64 / 1e9, groups })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_go_together_is_named() {
        let lead = Duration::from_millis(500);
        let groups = |texts: &[&str]| -> Vec<Group> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let cgroups: Vec<Cgroup> = vec!["a/b".parse().unwrap()];
        assert!(check(&groups(&["x", "y cgroup=a/b late-ms=500"]), &cgroups, lead).is_ok());
        for (texts, message) in [
            (&["x", "x"] as &[_], "two groups are called x"),
            (&["x late-ms=501"], "raise --lead-ms"),
            (&["x cgroup=a"], "add --cgroup a"),
            (&["v threads=256", "w threads=256", "x threads=256", "y threads=256", "z"], "1025"),
        ] {
            let error = check(&groups(texts), &cgroups, lead).unwrap_err().to_string();
            assert!(error.contains(message), "{texts:?}: {error}");
        }
    }
}
