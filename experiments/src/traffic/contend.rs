//! Threads that contend for the CPUs: how much time each got, and how long it had to pause.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::hog;

/// Flags of `steer-bench contend`.
#[derive(Debug, Args)]
pub(crate) struct ContendArgs {
    /// Threads; none of them sleeps.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Seconds that they contend for.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=3600))]
    duration: u16,
}

/// What became of one thread.
#[derive(Debug, Serialize)]
struct Had {
    /// CPU time in seconds.
    cpu_s: f64,
    /// Longest time between two looks at the clock, in milliseconds: what it had to wait for a CPU,
    /// and what interrupts took.
    longest_pause_ms: f64,
}

/// Contends, prints what each thread had as JSON.
///
/// # Errors
/// When a thread cannot be started.
pub(crate) fn run(args: &ContendArgs) -> Result<()> {
    let duration = Duration::from_secs(args.duration.into());
    let start = |_| thread::Builder::new().spawn(move || contend(duration));
    let threads: Vec<_> = (0..args.threads)
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
