//! CPU hogs: threads that never sleep, the rest of the host's work in every arm.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::cpus::CpuList;
use super::stop::Stop;

/// Flags of `steer-bench hog`.
#[derive(Debug, Args)]
pub(crate) struct HogArgs {
    /// CPUs one hog may run on (like 0-1,4); repeat for more hogs.
    #[arg(long = "cpus", value_name = "LIST", required = true)]
    sets: Vec<CpuList>,
    /// Spin for so long only, then print as JSON how much CPU time each hog got and how long it had
    /// to pause at most.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(1..=3600))]
    report_after: Option<u16>,
}

/// What became of one hog.
#[derive(Debug, Serialize)]
struct Had {
    /// CPU time in seconds.
    cpu_s: f64,
    /// Longest time between two looks at the clock, in milliseconds: what it had to wait for a CPU,
    /// and what interrupts took.
    longest_pause_ms: f64,
}

/// Spins one thread per CPU set until SIGINT or SIGTERM, or for the time given; prints `ready` once
/// all are bound.
///
/// # Errors
/// When a set holds a CPU that cannot be used here.
pub(crate) fn run(args: HogArgs) -> Result<()> {
    let stop = Stop::on_signal()?;
    for set in &args.sets {
        set.check().context("--cpus")?;
    }
    let time = args.report_after.map(|seconds| Duration::from_secs(seconds.into()));
    let mut hogs = Vec::new();
    for (index, set) in args.sets.into_iter().enumerate() {
        let hog = thread::Builder::new().name(format!("hog-{index}")).spawn(move || {
            if let Err(error) = set.pin_current_thread() {
                eprintln!("steer-bench: hog-{index} runs unpinned: {error:#}");
            }
            time.map_or_else(|| spin(), spin_for)
        });
        hogs.push(hog.with_context(|| format!("cannot start hog-{index}"))?);
    }
    println!("ready");
    if time.is_none() {
        return stop.wait();
    }
    let had = hogs.into_iter().map(|hog| hog.join().expect("a hog does not panic"));
    println!("{}", serde_json::to_string(&had.collect::<Vec<_>>())?);
    Ok(())
}

/// Spends CPU time without system calls or memory traffic, for ever.
fn spin() -> ! {
    loop {
        work();
    }
}

/// The same for a time, with looks at the clock.
fn spin_for(time: Duration) -> Had {
    let (start, mut longest) = (Instant::now(), Duration::ZERO);
    let mut last = start;
    while last - start < time {
        work();
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

/// Some microseconds of it.
fn work() {
    let mut work = 0u64;
    for _ in 0..10_000 {
        work = black_box(work.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
