//! Threads that compete for the CPUs. Measures how much CPU time each got, and its longest pause.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::hog;

/// How many threads compete, and for how long.
#[derive(Debug, Clone)]
pub struct ContendOptions {
    /// Threads. None of them sleeps.
    pub threads: u16,
    /// How long they compete, in seconds.
    pub duration: u16,
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
/// When a thread cannot be started.
pub fn run(options: &ContendOptions) -> Result<()> {
    let duration = Duration::from_secs(options.duration.into());
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
