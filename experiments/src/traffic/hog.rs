//! CPU hogs: threads that never sleep, the rest of the host's work in every arm.

use std::hint::black_box;
use std::thread;

use anyhow::{Context, Result};
use clap::Args;

use super::cpus::CpuList;
use super::stop::Stop;

/// Flags of `steer-bench hog`.
#[derive(Debug, Args)]
pub(crate) struct HogArgs {
    /// CPUs one hog may run on (like 0-1,4); repeat for more hogs.
    #[arg(long = "cpus", value_name = "LIST", required = true)]
    sets: Vec<CpuList>,
}

/// Spins one thread per CPU set until SIGINT or SIGTERM; prints `ready` once all are bound.
///
/// # Errors
/// When a set holds a CPU that cannot be used here.
pub(crate) fn run(args: HogArgs) -> Result<()> {
    let stop = Stop::on_signal()?;
    for set in &args.sets {
        set.check().context("--cpus")?;
    }
    for (index, set) in args.sets.into_iter().enumerate() {
        thread::Builder::new()
            .name(format!("hog-{index}"))
            .spawn(move || {
                if let Err(error) = set.pin_current_thread() {
                    eprintln!("steer-bench: hog-{index} runs unpinned: {error:#}");
                }
                spin()
            })
            .with_context(|| format!("cannot start hog-{index}"))?;
    }
    println!("ready");
    stop.wait()
}

/// Spends CPU time without system calls or memory traffic, for ever.
fn spin() -> ! {
    let mut work = 0u64;
    loop {
        work = black_box(work.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
