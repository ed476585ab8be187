//! `steer-bench cpu`: what the machine's CPUs did, under any scheduler. Three instruments run over
//! the same time: the kernel's time accounting, counters, and a sampler of kernel stacks.

mod breakdown;
mod cgroup;
mod counters;
mod doubts;
mod events;
mod kallsyms;
mod measure;
mod network;
mod record;
mod report;
mod rights;
mod sampler;
mod stack;
mod symbol_map;
mod text;
mod usage;

use anyhow::Result;
use clap::Args;

pub(crate) use breakdown::{Breakdown, title};
pub(crate) use counters::Count;
pub(crate) use network::Network;
pub(crate) use report::{CpuReport, Usage};

use crate::traffic::cpus::CpuList;
use crate::traffic::units::Seconds;

/// Flags of `steer-bench cpu`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct CpuArgs {
    /// Measure for this long; Ctrl-C ends it earlier, with a report of the time that was measured.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = Seconds::positive)]
    duration: Seconds,
    /// Open the instruments, say "ready" and measure only when this long has passed since the start.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    lead: Seconds,
    /// Keep the instruments open this long after measuring, or until a signal. With --lead, they are
    /// neither opened nor closed, for which the kernel patches its code, while traffic flows.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    tail: Seconds,
    /// Count this cgroup's events as well, with the cgroups below it. The path goes from the
    /// cgroup2 root.
    #[arg(long, value_name = "PATH")]
    cgroup: Option<String>,
    /// Measure these CPUs only (like 0-1,4) [default: all that are online].
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Shown by `--help`.
const HELP: &str = "\
Needs root, or CAP_PERFMON and CAP_SYSLOG. Where the CPU has no counters (most virtual machines),
their values are null, with the reason, and the stacks are sampled by the clock.

Examples:
  steer-bench cpu
  steer-bench cpu --duration 10 --cpus 2-3 --json > cpu.json
  steer-bench cpu --cgroup system.slice/nginx.service

The JSON, shortened (version 1; seconds end in _s, shares go from 0 to 1, null is unknown):
  {\"version\": 1, \"duration_s\": 5.0, \"kernel\": \"6.18.15\", \"cpus\": \"0-1\",
   \"usage\": {\"cpus_used\": 1.42,
     \"total\": {\"user_s\": 0.5, \"system_s\": 3.9, \"softirq_s\": 2.6, \"irq_s\": 0.1, \"steal_s\": 0.0,
               \"iowait_s\": 0.0, \"idle_s\": 2.9},
     \"by_cpu\": {\"0\": {\"user_s\": 0.3, ...}, ...}},
   \"counters\": {\"machine\": {
       \"total\": {\"cycles\": {\"value\": null, \"running_share\": null},
                 \"context_switches\": {\"value\": 81234, \"running_share\": 1.0}, ...},
       \"by_cpu\": {\"0\": {...}, ...}},
     \"cgroup\": null,
     \"unavailable\": {\"cycles\": \"this machine has no such counter (ENOENT)\", ...}},
   \"breakdown\": {\"event\": \"cpu-clock\", \"hz\": 997, \"samples\": 7021, \"lost\": 0,
     \"user\": 0.07,
     \"kernel\": {\"data_copy\": {\"total\": 0.31, \"process\": 0.31, \"softirq\": 0.0, \"irq\": 0.0},
                \"tcp_ip\": {...}, \"netdevice\": ..., \"skb\": ..., \"memory\": ..., \"lock\": ...,
                \"scheduling\": ..., \"others\": ..., \"unclassified\": ...},
     \"top_unclassified\": [{\"symbol\": \"foo_bar\", \"share\": 0.002}]},
   \"network\": {\"interrupts_per_s\": 9120.2, \"net_rx_per_s\": 4211.0, \"pure_acks_per_s\": 87.4},
   \"warnings\": []}

Exit code: 0 when it was measured, 1 when it could not be (and why), 2 for flags it does not know.";

/// Measures, and prints the report.
///
/// # Errors
/// When a CPU or the cgroup does not exist, or the kernel does not let this user measure.
pub(crate) fn run(args: &CpuArgs) -> Result<()> {
    let report = measure::measure(args)?;
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{}", text::text(&report));
    }
    Ok(())
}
