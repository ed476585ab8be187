//! The flags of `steer-bench det`.

use anyhow::Result;
use clap::{Args, Subcommand};
use steer_counted::{RunOptions, Watcher, Workload};
use steer_ground::cpus::CpuList;
use steer_ground::word::Word;
use steer_lab::SCX_STEER;

use super::choice::choice;
use super::guest::GuestArgs;

/// Flags of `steer-bench det`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DetArgs {
    #[command(subcommand)]
    command: Option<DetCommand>,
    #[command(flatten)]
    run: RunArgs,
    /// Print everything that was counted, as JSON.
    #[arg(long)]
    json: bool,
}

/// What to do in the deterministic tier instead of one run.
#[derive(Debug, Subcommand)]
enum DetCommand {
    /// Run one seed several times and compare every counter. Then run another seed, which must
    /// differ. From the second time on, the guest is stopped for a quarter of the time and
    /// its emulator disturbed for half of the rest: what else this machine does must not matter.
    Selftest(SelftestArgs),
}

#[derive(Debug, Args)]
struct SelftestArgs {
    /// Runs of the same seed.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(2..=100))]
    runs: u64,
    #[command(flatten)]
    run: RunArgs,
}

impl DetArgs {
    /// Runs one seed once, or the self-test.
    ///
    /// # Errors
    /// A run fails, or the self-test finds that runs of one seed differ, or that runs of two seeds do
    /// not.
    pub(crate) fn run(self) -> Result<()> {
        match self.command {
            Some(DetCommand::Selftest(SelftestArgs { runs, run })) => {
                steer_counted::selftest(&run.into(), runs)
            }
            None => steer_counted::run(&self.run.into(), self.json),
        }
    }
}

/// One run.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Seed of the run. It shifts the start against the timer ticks and chooses the source ports.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(..1_000_000))]
    pub(crate) seed: u32,
    /// The scheduler: scx_steer, default (the kernel's own), pinned (the kernel's own, with the
    /// server's threads pinned by hand: long flows near the NIC, RPCs elsewhere), or a program
    /// added by --with.
    #[arg(long, value_name = "NAME", default_value = SCX_STEER)]
    pub(crate) scheduler: String,
    /// What runs in the guest.
    #[arg(long, value_name = "NAME", value_parser = choice(workload), default_value = Workload::Traffic.word())]
    pub(crate) workload: Workload,
    /// Run the workload in a cpuset with these CPUs, like 0-1,4. Of traffic, that is the server. On
    /// one CPU, pipe uses the first of them.
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuList>,
    /// Also report what each BPF program costs: its runs, and the instructions per run, from the
    /// kernel's bpf_stats. Counting takes instructions, too, so the other figures differ from those
    /// of a run without it.
    #[arg(long)]
    pub(crate) bpf_stats: bool,
    /// What watches scx_steer meanwhile, such as metrics,top: does the workload pay for it?
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = choice(watcher))]
    pub(crate) watchers: Vec<Watcher>,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

impl From<RunArgs> for RunOptions {
    fn from(args: RunArgs) -> Self {
        let RunArgs { seed, scheduler, workload, cpus, bpf_stats, watchers, guest } = args;
        Self { seed, scheduler, workload, cpus, bpf_stats, watchers, guest: guest.into() }
    }
}

/// Describes a watcher, for the help.
fn watcher(watcher: Watcher) -> &'static str {
    match watcher {
        Watcher::Stats => "`scx_steer --monitor`",
        Watcher::Metrics => "`scx_steer metrics`",
        Watcher::Top => "`scx_steer top`, with its tracepoints",
    }
}

/// Describes a workload, for the help.
fn workload(workload: Workload) -> &'static str {
    match workload {
        Workload::Traffic => {
            "Long flows, RPCs and a hog per node, from one NIC of the guest to the other"
        }
        Workload::Rpcs => {
            "As traffic, without long flows: the instructions of an RPC if there is nothing to steer"
        }
        Workload::Overload => {
            "As traffic, with three more hogs per CPU, some of them nice: how long a thread must wait"
        }
        Workload::Pipe => {
            "Two processes that wake each other: the instructions of one loop, that is, two wake-ups"
        }
        Workload::Bound => {
            "As pipe, while 200 threads wait that may use the first two CPUs only: what their \
             waiting costs the others"
        }
    }
}
