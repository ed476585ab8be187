//! Threads that compete for the CPUs. Measures how much CPU time each got, and its longest pause.
//! They are all alike, or of several groups ([`groups`]).

mod board;
pub mod cgroup;
mod crew;
pub mod group;
mod groups;
mod member;
mod settings;
mod tree;

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::hog;
use cgroup::Cgroup;
use group::Group;
pub use groups::{GroupReport, GroupsReport};

/// Which threads compete, and for how long.
#[derive(Debug, Clone)]
pub struct ContendOptions {
    /// Threads, if there are no groups. None of them sleeps.
    pub threads: u16,
    /// How long they compete, in seconds. With groups, the length of the window.
    pub duration: u16,
    /// Groups of threads, instead of `threads`.
    pub groups: Vec<Group>,
    /// The cgroups that are made for the groups.
    pub cgroups: Vec<Cgroup>,
    /// How long the groups run before the window.
    pub lead: Duration,
}

/// What one thread got.
#[derive(Debug, Serialize)]
struct Had {
    /// CPU time in seconds.
    cpu_s: f64,
    /// Longest time between two readings of the clock, in milliseconds: waiting for a CPU, and
    /// interrupts.
    longest_pause_ms: f64,
}

/// Runs the threads, then prints what each got as JSON.
///
/// # Errors
/// When a thread cannot be started, or a cgroup cannot be made.
pub fn run(options: &ContendOptions) -> Result<()> {
    let duration = Duration::from_secs(options.duration.into());
    if !options.groups.is_empty() {
        return groups::run(&options.groups, &options.cgroups, options.lead, duration);
    }
    let start = |_| thread::Builder::new().spawn(move || contend(duration));
    let threads: Vec<_> = (0..options.threads)
        .map(start)
        .collect::<Result<_, _>>()
        .context("cannot start that many threads")?;
    let had = threads.into_iter().map(|thread| thread.join().expect("no thread panics"));
    println!("{}", serde_json::to_string(&had.collect::<Vec<_>>())?);
    Ok(())
}

fn contend(duration: Duration) -> Had {
    let (start, mut longest) = (Instant::now(), Duration::ZERO);
    let mut last = start;
    while last - start < duration {
        hog::spin();
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
    }
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    Had {
        cpu_s: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
        longest_pause_ms: longest.as_secs_f64() * 1e3,
    }
}
