//! `steer-bench cpu`: what the machine's CPUs did, under any scheduler. Three instruments measure
//! the same time: the kernel's time accounting, counters, and a sampler of kernel stacks.

mod breakdown;
mod cgroup;
mod counters;
mod events;
mod kallsyms;
mod measure;
mod network;
mod options;
mod record;
mod report;
mod rights;
mod sampler;
mod stack;
mod symbol_map;
mod text;
mod usage;
mod warnings;

use anyhow::Result;

pub use breakdown::{Breakdown, title};
pub use counters::Count;
pub use network::Network;
pub use options::CpuOptions;
pub use report::{CpuReport, Usage};
pub use usage::{CpuTime, Ticks};

/// Measures, and prints the report.
///
/// # Errors
/// When a CPU or the cgroup does not exist, or this user may not measure.
pub fn run(options: &CpuOptions) -> Result<()> {
    let report = measure::measure(options)?;
    if options.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{}", text::text(&report));
    }
    Ok(())
}
