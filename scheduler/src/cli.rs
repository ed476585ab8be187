//! The command line. As with other sched_ext schedulers, bare `scx_steer` loads the scheduler.

use std::{path::PathBuf, str::FromStr, time::Duration};

use clap::{Args, Parser, Subcommand};
use scx_utils::libbpf_clap_opts::LibbpfOpts;
use steer_topology::CpuSet;

use crate::{
    doctor::DoctorArgs,
    generate::GenerateArgs,
    metrics::MetricsArgs,
    nic::{HostArgs, NicCommand},
    policy::{PolicyArg, PolicyCommand},
    settings::SettingArgs,
    top::TopArgs,
};

/// A network-aware CPU scheduler for Linux (sched_ext).
///
/// Without a command, loads the scheduler and keeps it in force until SIGINT or SIGTERM. The
/// kernel's default scheduler then takes over again, and nothing on the host has changed.
///
/// Threads that carry long flows run on cores near the NIC, beside the softirq that feeds them.
/// Threads that serve short RPCs get cores of their own. Everything else is scheduled fairly.
///
/// Exit codes: 0 stopped by a signal, or the command succeeded; 1 an error, printed on stderr;
/// 2 a bad command line; 3 the scheduler was in force, and then the kernel ejected it or an error
/// ended it: the reason and the kernel's dump are on stderr. A service manager restarts on 3.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
  sudo scx_steer                        load the scheduler; Ctrl-C unloads it
  sudo scx_steer --policy web.toml      ... with these rules; see scx_steer policy --help
  sudo scx_steer --stats 1              ... and print its decisions every second
  sudo scx_steer --slice 2ms            ... with shorter time slices
  scx_steer --monitor 5                 watch an instance that is already running
  sudo scx_steer status                 what is in force, and which policy was refused
  sudo scx_steer top                    where threads and packets are now, and why
  sudo scx_steer doctor                 will it load here, and what does this host lose?
  scx_steer metrics                     serve it to Prometheus on 127.0.0.1
  scx_steer topology                    what this machine looks like to the scheduler
  scx_steer policy check                check the policy files
  sudo scx_steer observe --duration 10  measure placement under whatever scheduler is in force
  scx_steer nic status                  on which CPUs are the NICs served?
  sudo scx_steer nic apply --mode align ... on those near them, until: scx_steer nic restore"
)]
pub(crate) struct Cli {
    /// What to do instead of loading the scheduler.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Options of the scheduler itself.
    #[command(flatten)]
    pub(crate) schedule: ScheduleArgs,
}

impl Cli {
    /// Whether the command only prints: it changes nothing on the host, and serves nobody.
    pub(crate) fn only_prints(&self) -> bool {
        match self.command {
            None => self.schedule.help_stats || self.schedule.monitor.is_some(),
            Some(Command::Nic(_) | Command::Metrics(_) | Command::Generate(_)) => false,
            Some(_) => true,
        }
    }
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

    /// Describe each statistic, and exit.
    #[arg(long)]
    pub(crate) help_stats: bool,

    /// Log more, including what libbpf does. Repeat for even more.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Bytes of debug dump to keep if the kernel ejects the scheduler; 0 = the kernel's default.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) exit_dump_len: u32,

    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    #[command(flatten)]
    pub(crate) host: HostArgs,

    /// Options passed on to libbpf.
    #[command(flatten, next_help_heading = "Libbpf options")]
    pub(crate) libbpf: LibbpfOpts,
}

/// The commands that do not load the scheduler.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find what keeps the scheduler from loading and what the host loses. Changes nothing.
    Doctor(DoctorArgs),
    /// Print the machine: packages, NUMA nodes, caches, cores, CPUs, NICs with queues and IRQs.
    Topology(TopologyArgs),
    /// Show where threads and packets are now, and why, under any scheduler. Needs root.
    Top(TopArgs),
    /// Print what is in force: NICs and their steering, policy files, refused policies.
    Status(StatusArgs),
    /// Measure on which CPUs packets and threads are processed, under any scheduler. Needs root;
    /// needs no sched_ext.
    Observe(ObserveArgs),
    /// Check, show and explain the per-cgroup policy files. Needs no root and no sched_ext.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Say, plan, set and put back on which CPUs NICs are served. Needs no sched_ext.
    #[command(subcommand)]
    Nic(NicCommand),
    /// Serve what the running instance counts to Prometheus. Needs no root.
    Metrics(MetricsArgs),
    /// Write man pages and shell completions into a folder, for packages.
    #[command(hide = true)]
    Generate(GenerateArgs),
}

/// Options of `status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Asks the running instance over its statistics socket.

Exit codes: 0 scx_steer is in force; 1 it is not in force, or does not answer.

Examples:
  sudo scx_steer status
  sudo scx_steer status --json | jq -e '.policy.refused == null'    fails if the files on disk are not in force")]
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
    /// Read an hwloc XML file instead of this machine. Such files lack NIC queues and IRQs.
    #[arg(long, value_name = "FILE")]
    pub(crate) xml: Option<PathBuf>,
}

/// Options of `observe`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo scx_steer observe                         until Ctrl-C
  sudo scx_steer observe --duration 10 --json > placement.json
  sudo scx_steer observe --cgroup system.slice/nginx.service --duration 10
  sudo scx_steer observe --cpus 8-15 --duration 10")]
pub(crate) struct ObserveArgs {
    /// Measure for this long; without it, until SIGINT or SIGTERM.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) duration: Option<Seconds>,
    /// Observe only the traffic of this cgroup and of the cgroups below it. All other threads count
    /// as threads without traffic. The path starts at the cgroup2 root.
    #[arg(long, value_name = "CGROUP")]
    pub(crate) cgroup: Option<String>,
    /// Count only what happens on these CPUs, like 0-3,8.
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// Attach the tracepoints this long before measuring.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) lead: Option<Seconds>,
    /// Stay attached this long after measuring. With --lead and --tail no tracepoint is switched
    /// on or off while a benchmark measures: switching one patches hot kernel code.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) tail: Option<Seconds>,
    /// Length of one step of the timeline.
    #[arg(long, value_name = "SECONDS", default_value = "0.2")]
    pub(crate) interval: Seconds,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ObserveArgs {
    /// Measures all traffic for `duration`.
    pub(crate) fn lasting(duration: Seconds) -> Self {
        let (cgroup, cpus, lead, tail) = (None, None, None, None);
        Self { duration: Some(duration), cgroup, cpus, lead, tail, interval: duration, json: true }
    }
}

/// A positive number of seconds, at most one day. Fractions are allowed.
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
