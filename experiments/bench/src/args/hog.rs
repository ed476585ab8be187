//! The flags of `steer-bench hog`, `steer-bench contend` and `steer-bench wake`.

use std::time::Duration;

use clap::{Args, value_parser};
use steer_ground::cpus::CpuList;
use steer_ground::units::Seconds;
use steer_traffic::contend::ContendOptions;
use steer_traffic::contend::cgroup::Cgroup;
use steer_traffic::contend::group::Group;
use steer_traffic::hog::HogOptions;
use steer_traffic::wake::WakeOptions;

/// Flags of `steer-bench hog`.
#[derive(Debug, Args)]
pub(crate) struct HogArgs {
    /// CPUs that a hog may run on, like 0-1,4. Repeat for more hogs.
    #[arg(long = "cpus", value_name = "LIST", required = true)]
    pub(crate) sets: Vec<CpuList>,
    /// Hogs on each --cpus list in each stage of a shifting load, like 1,0,4.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    #[arg(value_parser = value_parser!(u16).range(0..=1024))]
    pub(crate) stages: Vec<u16>,
    /// Seconds before the first stage is counted. Its hogs already run.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub(crate) lead: Seconds,
    /// Length of all stages together, in seconds. All have the same length; the hogs of the last
    /// continue afterwards.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub(crate) duration: Seconds,
}

impl From<HogArgs> for HogOptions {
    fn from(args: HogArgs) -> Self {
        let HogArgs { sets, stages, lead, duration } = args;
        Self { sets, stages, lead, duration }
    }
}

/// Flags of `steer-bench contend`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench contend --threads 8
  sudo steer-bench contend --duration 3 --group 'heavy cpus=0' --group 'light cpus=0 nice=19'
  sudo steer-bench contend --duration 3 --cgroup 'a max=20%' --group 'limited cgroup=a threads=4'

Settings of a group: threads=N, cgroup=PATH, cpus=LIST, policy=other|batch|idle|fifo, nice=N,
run-ms=N and sleep-ms=N (CPU time of each turn, and the sleep after it), late-ms=N (begins so much
later), from=LIST (until then, it spins on these CPUs).

Settings of a cgroup: weight=N, idle=1, max=PERCENT% (of one CPU), period-ms=N, burst-ms=N,
cpus=LIST.")]
pub(crate) struct ContendArgs {
    /// Threads. None of them sleeps.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// How long the threads compete for the CPUs, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub(crate) duration: u16,
    /// A group of threads, instead of --threads: a name, then settings (see below). Prints the CPU
    /// time of each group in a window of --duration. Repeat for each group. Needs root.
    #[arg(long = "group", value_name = "GROUP", conflicts_with = "threads")]
    pub(crate) groups: Vec<Group>,
    /// A cgroup to make for the groups: a path, then settings (see below). Repeat for each cgroup.
    #[arg(long = "cgroup", value_name = "CGROUP", requires = "groups")]
    pub(crate) cgroups: Vec<Cgroup>,
    /// How long the groups run before the window, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 1000, requires = "groups")]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub(crate) lead_ms: u64,
}

impl From<ContendArgs> for ContendOptions {
    fn from(args: ContendArgs) -> Self {
        let ContendArgs { threads, duration, groups, cgroups, lead_ms } = args;
        Self { threads, duration, groups, cgroups, lead: Duration::from_millis(lead_ms) }
    }
}

/// Flags of `steer-bench wake`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  steer-bench wake --cpu 0 --turns 50 --work-ms 5")]
pub(crate) struct WakeArgs {
    /// The waker's CPU, and the one that the other thread used last at each wake-up.
    #[arg(long, value_name = "CPU", default_value_t = 0)]
    pub(crate) cpu: u16,
    /// Wake-ups.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = value_parser!(u16).range(1..=10_000))]
    pub(crate) turns: u16,
    /// How long the waker works after each wake-up, in milliseconds. It sleeps twice as long before
    /// the next one.
    #[arg(long, value_name = "MS", default_value_t = 5, value_parser = value_parser!(u64).range(1..=1000))]
    pub(crate) work_ms: u64,
}

impl From<WakeArgs> for WakeOptions {
    fn from(args: WakeArgs) -> Self {
        let WakeArgs { cpu, turns, work_ms } = args;
        Self { cpu, turns, work: Duration::from_millis(work_ms) }
    }
}
