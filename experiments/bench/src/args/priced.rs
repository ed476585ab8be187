//! The flags of `steer-bench priced`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, Subcommand, value_parser};
use steer_ground::cpus::CpuList;
use steer_ground::text::words;
use steer_lab::SCX_STEER;
use steer_lab::kernel::Wanted;
use steer_lab::shape::Shape;
use steer_priced::ab::{self, AbOptions};
use steer_priced::fidelity::{self, FidelityOptions};
use steer_priced::flow::{self, FlowOptions};
use steer_priced::guard::{self, Case, GuardOptions};
use steer_priced::neutral::{self, NeutralOptions, Program};
use steer_priced::{BenchOptions, adapt, calibrate, profile};
use steer_result::spec::Options;
use steer_scenario::arm::Arm;

use super::choice::choice;
use super::guest::SourceArgs;
use super::priced_ab::{self, PricedAbArgs};

/// What to do in the priced tier.
#[derive(Debug, Subcommand)]
pub(crate) enum PricedCommand {
    /// Check machines: microbenchmarks in the guest must measure what the machine's file says.
    Calibrate(CalibrateArgs),
    /// Measure one TCP flow, with softirq and thread in five placements.
    Flow(FlowArgs),
    /// Measure what the papers measured on hardware, on all machines, and tell what was found again.
    Fidelity(FidelityArgs),
    /// Compare schedulers on the same traffic.
    Ab(Box<PricedAbArgs>),
    /// Tell in which functions of the kernel and the scheduler the CPUs' time goes, under each arm,
    /// and how much of it they wait for memory: the flags of `priced ab`. Takes longer than that.
    #[command(after_help = "\
Examples:
  steer-bench priced profile --arms default,scx_steer --steering auto --no-hogs
  steer-bench priced profile --queues 1 --cpus 2    # what fills the CPU of the only queue")]
    Profile(Box<ProfileArgs>),
    /// Time how soon the thread of a new long flow runs near the NIC under each arm, by the guest's
    /// clock, and count its moves after that: the flags of `priced ab`.
    #[command(after_help = "\
Examples:
  steer-bench priced adapt
  steer-bench priced adapt --arms scx_steer --steering auto,hash --duration 0.5")]
    Adapt(Box<PricedAbArgs>),
    /// Time programs that move no data under each scheduler, by the guest's clock: two processes
    /// that wake each other, many that send messages, and compilers.
    #[command(after_help = "\
Examples:
  steer-bench priced neutral
  steer-bench priced neutral --programs pipe --machine epyc-7763
  steer-bench priced neutral --arms default,simple=scx_simple --with /usr/bin/scx_simple")]
    Neutral(NeutralArgs),
    /// Compare short runs of scx_steer, at fixed rates and with one saturated queue, with the record
    /// in experiments/priced/guard.json, in six minutes, or in 20 if they look worse. Fails if it
    /// lost more than 2 % of its throughput per core and that is no chance, or if long flows are
    /// placed worse.
    Guard(GuardArgs),
}

/// What the guard measures: flags of `steer-bench priced ab`. CPUs near the NIC are left for RPCs.
/// With a saturated queue, one guest's layout of memory moves all its seeds by several percent.
const GUARD: [(&str, &str); 2] = [
    (
        "fixed rates",
        "--shape 2x4 --steering hash --seeds 4 --boots 1 --no-hogs --duration 0.1 \
         --out target/priced-guard/fixed",
    ),
    (
        "one saturated queue",
        "--shape 2x4 --steering hash --seeds 4 --boots 2 --no-hogs --duration 0.1 \
         --queues 1 --long-rate max --out target/priced-guard/saturated",
    ),
];

/// How to run guests.
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// Kernel series, such as 6.18, or version, such as 6.18.15.
    #[arg(long, value_name = "VERSION", default_value = "6.18")]
    kernel: Wanted,
    #[command(flatten)]
    source: SourceArgs,
    /// Guests that run at a time. Each keeps one CPU of this machine busy. What they measure does
    /// not depend on it.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = value_parser!(u8).range(1..=64))]
    at_once: u8,
    /// Longest real time for all guests together, in minutes.
    #[arg(long, value_name = "MINUTES", default_value_t = 60.0, value_parser = minutes)]
    budget: f64,
}

/// The guest's programs.
#[derive(Debug, Args)]
pub(super) struct ProgramArgs {
    /// The scx_steer program to test [default: scx_steer in this program's folder].
    #[arg(long, value_name = "PATH")]
    scx_steer: Option<PathBuf>,
    /// Another program to put into the guest's /bin. May be repeated.
    #[arg(long = "with", value_name = "PATH")]
    extra: Vec<PathBuf>,
}

impl ProgramArgs {
    /// This program, scx_steer and the others.
    ///
    /// # Errors
    /// When this program's file cannot be found.
    pub(super) fn all(self) -> Result<Vec<PathBuf>> {
        let this = std::env::current_exe().context("finding this program's file")?;
        let scx_steer = self.scx_steer.unwrap_or_else(|| this.with_file_name(SCX_STEER));
        Ok([this, scx_steer].into_iter().chain(self.extra).collect())
    }
}

/// A positive number of minutes, up to a day.
fn minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if minutes > 0.0 && minutes <= 1440.0 => Ok(minutes),
        _ => Err("write minutes above 0, up to 1440".to_owned()),
    }
}

impl From<BenchArgs> for BenchOptions {
    fn from(args: BenchArgs) -> Self {
        let BenchArgs { kernel, source, at_once, budget } = args;
        Self {
            kernel,
            source: source.into(),
            at_once: at_once.into(),
            budget: Duration::from_secs_f64(60.0 * budget),
        }
    }
}

/// Flags of `steer-bench priced calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Machines to check: names, or files that end in .toml [default: all of
    /// experiments/priced/machines].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    machine: Vec<String>,
    /// Print all checks as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    bench: BenchArgs,
}

/// Flags of `steer-bench priced flow`.
#[derive(Debug, Args)]
pub(crate) struct FlowArgs {
    /// Machines: names in experiments/priced/machines, or files that end in .toml.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "xeon-gold-6128")]
    machine: Vec<String>,
    /// Largest packet, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = value_parser!(u32).range(576..=9000))]
    mtu: u32,
    /// Runs of each machine. The seed moves the flow against the timer ticks.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Measured time of the guest for each placement, in ms.
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = value_parser!(u32).range(1..=10_000))]
    span: u32,
    /// Print all measurements as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    bench: BenchArgs,
}

/// Flags of `steer-bench priced fidelity`.
#[derive(Debug, Args)]
pub(crate) struct FidelityArgs {
    /// Runs of each machine. The seed moves the flows against the timer ticks.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Time of the guest before the measured one, in ms.
    #[arg(long, value_name = "MS", default_value_t = 30, value_parser = value_parser!(u32).range(1..=10_000))]
    warmup: u32,
    /// Measured time of the guest for each case, in ms.
    #[arg(long, value_name = "MS", default_value_t = 60, value_parser = value_parser!(u32).range(1..=10_000))]
    span: u32,
    /// Folder for fidelity.json, with all measurements.
    #[arg(long, value_name = "DIR", default_value = "target/priced")]
    out: PathBuf,
    /// Print the table in Markdown.
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    bench: BenchArgs,
}

/// Flags of `steer-bench priced profile`.
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// Only these of the measured CPUs, such as the one of a full queue.
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    #[command(flatten)]
    ab: PricedAbArgs,
}

/// Flags of `steer-bench priced neutral`.
#[derive(Debug, Args)]
pub(crate) struct NeutralArgs {
    /// The machine: a name in experiments/priced/machines, or a file that ends in .toml.
    #[arg(long, value_name = "NAME", default_value = "xeon-gold-6128")]
    machine: String,
    /// Its CPUs: NUMA nodes x cores [x SMT threads].
    #[arg(long, value_name = "SHAPE", default_value = "2x4")]
    shape: Shape,
    /// The schedulers, named as for `priced ab`. The others are compared with the first.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "default,scx_steer")]
    arms: Vec<Arm>,
    /// What to time.
    #[arg(
        long = "programs",
        value_name = "LIST",
        value_parser = choice(program),
        value_delimiter = ',',
        default_value = "pipe,messaging,compile"
    )]
    what: Vec<Program>,
    /// Runs of each scheduler. A run with the same seed repeats exactly.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Guests that boot for each scheduler; seeds are copies of them.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u32).range(1..=1000))]
    boots: u32,
    #[command(flatten)]
    programs: ProgramArgs,
    /// Folder for neutral.json, with all runs.
    #[arg(long, value_name = "DIR", default_value = "target/priced")]
    out: PathBuf,
    #[command(flatten)]
    bench: BenchArgs,
}

/// Describes a program, for the help.
fn program(program: Program) -> &'static str {
    match program {
        Program::Pipe => "Two processes wake each other in turns (perf bench sched pipe)",
        Program::Messaging => "40 processes send to 40 others (perf bench sched messaging)",
        Program::Compile => "Eight compilers at a time",
    }
}

/// Flags of `steer-bench priced guard`.
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// Make a new record, of the default scheduler, scx_steer and pinning, in 20 minutes.
    #[arg(long, conflicts_with = "case")]
    record: bool,
    /// Measure only this kind of traffic.
    #[arg(long, value_name = "NAME", value_parser = GUARD.map(|(name, _)| name))]
    case: Option<String>,
    #[command(flatten)]
    bench: BenchArgs,
}

impl PricedCommand {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// When a guest or a check fails.
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::Calibrate(args) => calibrate::run(&args.machine, &args.bench.into(), args.json),
            Self::Ab(_) => {
                // The result records the options as they were given, which clap's types have not.
                let command: Vec<String> = std::env::args().collect();
                ab::run(&priced_ab::options(&command[3..])?, command).map(drop)
            }
            Self::Profile(args) => {
                let ProfileArgs { cpus, ab } = *args;
                let options = AbOptions { profile: true, ..ab.options(Options::default())? };
                profile::run(&options, cpus.as_ref())
            }
            Self::Adapt(args) => adapt::run(args.options(Options::default())?),
            Self::Neutral(args) => neutral::run(&NeutralOptions {
                machine: args.machine,
                shape: args.shape,
                arms: args.arms,
                what: args.what,
                seeds: args.seeds,
                boots: args.boots,
                programs: args.programs.all()?,
                out: args.out,
                bench: args.bench.into(),
            }),
            Self::Guard(args) => {
                let bench: BenchOptions = args.bench.into();
                let case = |(name, flags)| {
                    let flags = words(flags);
                    let ab = AbOptions { bench: bench.clone(), ..priced_ab::options(&flags)? };
                    let command = words("steer-bench priced ab").into_iter().chain(flags).collect();
                    Ok(Case { name, ab, command })
                };
                let wanted = |name: &str| args.case.as_ref().is_none_or(|wanted| wanted == name);
                let cases = GUARD.into_iter().filter(|(name, _)| wanted(name));
                let cases = cases.map(case).collect::<Result<_>>()?;
                guard::run(&GuardOptions { cases, record: args.record })
            }
            Self::Fidelity(args) => fidelity::run(&FidelityOptions {
                seeds: args.seeds,
                warm_ms: args.warmup,
                span_ms: args.span,
                out: args.out,
                markdown: args.markdown,
                bench: args.bench.into(),
            }),
            Self::Flow(args) => {
                let options = FlowOptions {
                    machines: args.machine,
                    mtu: args.mtu,
                    seeds: args.seeds,
                    span_ms: args.span,
                    bench: args.bench.into(),
                };
                flow::run(&options, args.json)
            }
        }
    }
}
