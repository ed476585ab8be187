//! `steer-bench det`: the deterministic tier. The guest's clock counts instructions and nothing
//! comes in from outside, so that the same seed gives the same run, to the last counter; and a span
//! on that clock is a number of instructions.

mod bpf_cost;
mod counted;
mod guest;
mod pipe;
mod traffic;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;

use self::bpf_cost::Spans;
use self::counted::Counted;
use self::guest::Packed;
use self::traffic::Instructions;
use super::arm::SUBJECT;
use crate::lab::guest::GuestArgs;
use crate::lab::progress::Progress;

/// Name of the kernel's own scheduler.
const DEFAULT: &str = "default";

/// The same, with the server's threads pinned by hand.
const PINNED: &str = "pinned";

/// Flags of `steer-bench det`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DetArgs {
    #[command(subcommand)]
    command: Option<DetCommand>,
    #[command(flatten)]
    run: RunArgs,
    /// Print all that was counted, as JSON.
    #[arg(long)]
    json: bool,
}

/// What to do in the deterministic tier instead of one run.
#[derive(Debug, Subcommand)]
enum DetCommand {
    /// Run one seed several times and compare every counter, then another seed, which must differ. On
    /// a machine that does nothing else: where QEMU waits for a CPU, a run may differ.
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

/// One run.
#[derive(Debug, Args)]
struct RunArgs {
    /// Which run: moves the start against the timer ticks and chooses the source ports.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(..1_000_000))]
    seed: u32,
    /// The scheduler: scx_steer, default for the kernel's own, pinned for that with the server's
    /// threads pinned by hand (long flows near the NIC, RPCs elsewhere), or a program taken along
    /// by --with.
    #[arg(long, value_name = "NAME", default_value = SUBJECT)]
    scheduler: String,
    /// What runs in the guest.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Workload::Traffic)]
    workload: Workload,
    /// Say what each BPF program costs, too: its runs, and the instructions of one, by the kernel's
    /// bpf_stats. Counting them costs instructions itself, so the other figures of such a run are
    /// not those of a run without.
    #[arg(long)]
    bpf_stats: bool,
    #[command(flatten)]
    guest: GuestArgs,
}

/// What runs in the guest; a function of `det.sh` each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Workload {
    /// Long flows, RPCs and a hog per node, from one NIC of the guest to the other.
    Traffic,
    /// The same without long flows: the instructions of an RPC where there is nothing to steer.
    Rpcs,
    /// Traffic with three hogs more per CPU, some of them nice: how long a thread has to wait.
    Overload,
    /// Two processes that wake each other: the instructions of one loop, which is two wake-ups.
    Pipe,
}

impl Workload {
    /// Its name in `det.sh` and in results.
    fn name(self) -> &'static str {
        match self {
            Self::Traffic => "traffic",
            Self::Rpcs => "rpcs",
            Self::Overload => "overload",
            Self::Pipe => "pipe",
        }
    }

    /// The reports a reader wants to see.
    fn main_reports(self) -> &'static [&'static str] {
        match self {
            Self::Traffic | Self::Rpcs => &["observe", "instructions"],
            Self::Overload => &["hogs"],
            Self::Pipe => &["pipe"],
        }
    }
}

/// Runs it.
///
/// # Errors
/// When a run fails, or the self-test finds a difference where there must be none.
pub(crate) fn run(args: DetArgs) -> Result<()> {
    if let Some(DetCommand::Selftest(args)) = args.command {
        return selftest(&args);
    }
    let progress = Progress::spinner();
    let counted = Packed::new(&args.run, &progress)?.run(args.run.seed, &progress)?;
    drop(progress);
    if args.json {
        println!("{}", serde_json::to_string(&counted)?);
    } else {
        for report in args.run.workload.main_reports() {
            println!("{}", serde_json::to_string_pretty(&counted.reports[report])?);
        }
        if let Some(bpf) = counted.reports.get("bpf") {
            let busy = counted.reports.get("instructions").map(Instructions::deserialize);
            let busy = busy.transpose()?.map_or(1.0, |instructions| instructions.busy_cpus);
            print!("\n{}", bpf_cost::text(&Spans::deserialize(bpf)?, busy));
        }
    }
    Ok(())
}

/// The same seed several times, then another.
fn selftest(args: &SelftestArgs) -> Result<()> {
    let progress = Progress::rounds(args.runs + 1);
    let packed = Packed::new(&args.run, &progress)?;
    let run = |seed| -> Result<Counted> {
        let counted = packed.run(seed, &progress)?;
        progress.advance();
        Ok(counted)
    };
    let seed = args.run.seed;
    let first = run(seed)?;
    let mut failed = 0;
    for again in 2..=args.runs {
        let differences = first.differences(&run(seed)?);
        failed += u32::from(!differences.is_empty());
        say(&progress, differences.is_empty(), &format!("run {again} of seed {seed} is as run 1"));
        differences.iter().for_each(|difference| progress.say(&format!("    {difference}")));
    }
    let moved = !first.differences(&run(seed + 1)?).is_empty();
    failed += u32::from(!moved);
    say(&progress, moved, &format!("seed {} is another run", seed + 1));
    drop(progress);
    println!("{} passed, {failed} failed", args.runs - u64::from(failed));
    ensure!(failed == 0, "the deterministic tier is not what its name says");
    Ok(())
}

fn say(progress: &Progress, passed: bool, what: &str) {
    progress.say(&format!("{} {what}", if passed { "ok" } else { "FAILED" }));
}
