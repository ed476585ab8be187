//! The command line. Bare `scx_steer` loads the scheduler, as is the custom of the field.

use std::{path::PathBuf, str::FromStr, time::Duration};

use clap::{Args, Parser, Subcommand};
use scx_utils::libbpf_clap_opts::LibbpfOpts;

use crate::{
    policy::{PolicyArg, PolicyCommand},
    settings::SettingArgs,
};

/// A network-aware CPU scheduler for Linux (sched_ext).
///
/// Without a command, loads the scheduler and keeps it in force until SIGINT or SIGTERM; then the
/// kernel's default scheduler is back and nothing on the host has changed. Threads that carry long
/// flows run on NIC-local cores beside the softirq that feeds them, threads that serve short RPCs
/// get cores of their own, everything else is scheduled fairly.
///
/// Exit codes: 0 stopped by a signal or the command is done; 1 an error, said on stderr; 2 a
/// command line that cannot be understood.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
  sudo scx_steer                        load the scheduler; Ctrl-C unloads it
  sudo scx_steer --policy web.toml      ... by these rules; see scx_steer policy --help
  sudo scx_steer --stats 1              ... and print its decisions every second
  sudo scx_steer --slice 2ms            ... with shorter time slices
  scx_steer --monitor 5                 watch an instance that is already running
  sudo scx_steer status                 what is in force, and what was refused
  scx_steer topology                    what this machine looks like to the scheduler
  scx_steer policy check                are the per-cgroup policy files in order?
  sudo scx_steer observe --duration 10  measure placement under whatever scheduler is in force"
)]
pub(crate) struct Cli {
    /// What to do instead of loading the scheduler.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Options of the scheduler itself.
    #[command(flatten)]
    pub(crate) schedule: ScheduleArgs,
}

/// Options of the scheduler itself.
#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    /// Print statistics every SECONDS while the scheduler runs.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) stats: Option<Seconds>,

    /// Print the statistics of an instance that is already running every SECONDS; load nothing.
    #[arg(long, value_name = "SECONDS", conflicts_with = "stats")]
    pub(crate) monitor: Option<Seconds>,

    #[command(flatten)]
    pub(crate) policy: PolicyArg,

    /// Say what each statistic means, and exit.
    #[arg(long)]
    pub(crate) help_stats: bool,

    /// Say more: what libbpf does too.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Bytes of debug dump to keep if the kernel ejects the scheduler; 0 = the kernel's default.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) exit_dump_len: u32,

    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    /// Passed on to libbpf.
    #[command(flatten, next_help_heading = "Libbpf options")]
    pub(crate) libbpf: LibbpfOpts,
}

/// The commands besides scheduling.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the machine: packages, NUMA nodes, caches, cores, CPUs, NICs with queues and IRQs.
    Topology(TopologyArgs),
    /// Say what is in force: NICs and their steering, policy files, what was refused.
    Status(StatusArgs),
    /// Measure where traffic and threads meet, under any scheduler. Needs root, not sched_ext.
    Observe(ObserveArgs),
    /// Check, show and explain the per-cgroup policy files. Needs neither root nor sched_ext.
    #[command(subcommand)]
    Policy(PolicyCommand),
}

/// Options of `status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Asks the instance that is running, over its statistics socket.

Exit codes: 0 scx_steer is in force; 1 it is not, or does not answer.

Examples:
  sudo scx_steer status
  sudo scx_steer status --json | jq -e '.policy.refused == null'    are the files in force?")]
pub(crate) struct StatusArgs {
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `topology`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  scx_steer topology
  scx_steer topology --json | jq '.nics[] | {name, node, local_cpus}'
  scx_steer topology --xml server.xml     made with: lstopo --of xml server.xml")]
pub(crate) struct TopologyArgs {
    /// Print JSON instead of a tree.
    #[arg(long)]
    pub(crate) json: bool,
    /// Read an hwloc XML file instead of this machine. NIC queues and IRQs are not in such files.
    #[arg(long, value_name = "FILE")]
    pub(crate) xml: Option<PathBuf>,
}

/// Options of `observe`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo scx_steer observe                         until Ctrl-C
  sudo scx_steer observe --duration 10 --json > placement.json
  sudo scx_steer observe --cgroup system.slice/nginx.service --duration 10")]
pub(crate) struct ObserveArgs {
    /// Measure for this long; without it, until SIGINT or SIGTERM.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) duration: Option<Seconds>,
    /// Observe only the traffic of this cgroup and those below it; all else counts as without
    /// traffic. The path goes from the cgroup2 root.
    #[arg(long, value_name = "CGROUP")]
    pub(crate) cgroup: Option<String>,
    /// Attach this long before measuring begins.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) lead: Option<Seconds>,
    /// Stay attached this long after measuring. With --lead, no tracepoint is switched on or off
    /// while the traffic of a benchmark runs: patching hot kernel code is not free.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) tail: Option<Seconds>,
    /// Time between two points of the timeline.
    #[arg(long, value_name = "SECONDS", default_value = "0.2")]
    pub(crate) interval: Seconds,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A positive number of seconds, fractions allowed, a day at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(Duration);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_string())?;
        if !(0.01..=86_400.0).contains(&seconds) {
            return Err("allowed is 0.01 to 86400 seconds".into());
        }
        Ok(Self(Duration::from_secs_f64(seconds)))
    }
}

impl From<Seconds> for Duration {
    fn from(seconds: Seconds) -> Self {
        seconds.0
    }
}
