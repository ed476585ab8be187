//! The subcommands that use the lab. Each is passed to the crate that does the work.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use steer_ground::progress::Progress;
use steer_lab::guest;
use steer_lab::kernel::{Release, Source, Wanted};

use crate::args::ab::{self, AbArgs};
use crate::args::checks::{SoakArgs, TestArgs};
use crate::args::contracts::ContractsArgs;
use crate::args::det::DetArgs;
use crate::args::experiment::RunArgs;
use crate::args::guest::{GuestArgs, RunArgs as GuestRunArgs, SourceArgs};
use crate::args::priced::PricedCommand;
use crate::args::trials::{
    AdaptArgs, DriversArgs, DriversHereArgs, JournalArgs, JournalHereArgs, NeutralArgs,
};

/// Subcommands that use the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Download the kernels that guests boot.
    #[command(subcommand)]
    Kernel(KernelCommand),
    /// Boot the virtual lab.
    #[command(subcommand)]
    Lab(BootCommand),
    /// Compare schedulers on the same traffic, interleaved, in the lab or on this host.
    ///
    /// The lab shows where threads and packets go. It cannot show what that is worth: no cache and
    /// no node is remote there. `steer-bench priced ab` compares in a model of a machine that has
    /// prices for both.
    Ab(Box<AbArgs>),
    /// Run the experiments of spec files: A/B runs, one question each.
    Run(RunArgs),
    /// Repeat a run exactly: a guest whose clock counts instructions.
    Det(Box<DetArgs>),
    /// Run trials of the journal on this machine. `lab journal` starts this.
    #[command(hide = true)]
    JournalHere(JournalHereArgs),
    /// Try the modes of host steering on the devices of this guest. `lab drivers` starts this.
    #[command(hide = true)]
    DriversHere(DriversHereArgs),
    /// Measure in a guest whose clock is a model of a machine: caches, NUMA and DMA have prices.
    #[command(subcommand)]
    Priced(PricedCommand),
    /// Serve the lab from inside its guest. The guest's first process starts this.
    #[command(hide = true)]
    Guest,
    /// Print the kernel's counts for each BPF program. `det --bpf-stats` uses this in its guest.
    #[command(hide = true)]
    BpfStats,
}

/// What to do with kernels.
#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// Fetch the newest kernel of a series, unless it is cached.
    Fetch(FetchArgs),
    /// Take a kernel that was built on this machine. `make kernel-6.12` uses this.
    Add(AddArgs),
    /// Unpack the headers and the source of a kernel, to build modules for its guests.
    Headers(HeadersArgs),
}

/// Flags of `steer-bench kernel fetch`.
#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// Series, such as 6.18, or version, such as 6.18.15.
    #[arg(default_value = "6.18")]
    kernel: Wanted,
    /// The flavour with the drivers of real NICs, not the smaller one for clouds.
    #[arg(long)]
    drivers: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// Flags of `steer-bench kernel headers`.
#[derive(Debug, Args)]
pub(crate) struct HeadersArgs {
    /// Its release, as `kernel fetch` prints it.
    release: Release,
    /// Folder to unpack into.
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    #[command(flatten)]
    source: SourceArgs,
}

/// Flags of `steer-bench kernel add`.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Its release, as `uname -r` prints it: named as Debian's, such as 6.12.117+deb13-cloud-amd64.
    release: Release,
    /// Folder with vmlinuz, config and the modules of virtio_net, named as in Debian's packages.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// The source package that it was built from.
    #[arg(long, value_name = "FILE")]
    package: PathBuf,
    #[command(flatten)]
    source: SourceArgs,
}

/// What to do in the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum BootCommand {
    /// Open a shell in a guest, on this terminal.
    Shell(GuestArgs),
    /// Run one command in a fresh guest, and print its output.
    Run(GuestRunArgs),
    /// Check scx_steer in a guest: load and unload it under traffic, while CPUs and NICs come and
    /// go.
    Test(Box<TestArgs>),
    /// Check that scx_steer keeps CPU shares, limits and waits as the kernel's own scheduler does:
    /// nice, policies, cpu.weight, cpu.idle, cpu.max, affinities.
    Contracts(Box<ContractsArgs>),
    /// Stress scx_steer with everything at once, for minutes.
    Soak(Box<SoakArgs>),
    /// Time programs without traffic under scx_steer and the default scheduler, in turn. In the
    /// emulator, waking another CPU costs almost nothing: see `steer-bench priced neutral`.
    Neutral(Box<NeutralArgs>),
    /// Time how soon placement adapts when a long flow begins, and when an IRQ moves.
    Adapt(Box<AdaptArgs>),
    /// Kill and disturb `scx_steer nic` in randomised trials: no setting may be lost, no foreign
    /// value overwritten.
    Journal(Box<JournalArgs>),
    /// Try each mode of `scx_steer nic` on virtio_net, e1000e, igb, veth, VLAN, bond and
    /// bridge.
    Drivers(Box<DriversArgs>),
}

impl LabCommand {
    /// Runs the subcommand to its end.
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::Kernel(KernelCommand::Fetch(args)) => {
                let wanted = if args.drivers { args.kernel.with_drivers() } else { args.kernel };
                let kernel = Source::from(args.source).get(&wanted, &Progress::spinner())?;
                println!("{}", kernel.release);
                Ok(())
            }
            Self::Kernel(KernelCommand::Add(args)) => {
                let source = Source::from(args.source);
                println!("{}", source.add(&args.release, &args.from, &args.package)?.release);
                Ok(())
            }
            Self::Kernel(KernelCommand::Headers(args)) => {
                let HeadersArgs { release, into, source } = args;
                Source::from(source).headers(&release, &into, &Progress::spinner())
            }
            Self::Lab(BootCommand::Shell(args)) => guest::shell(&args.into()),
            Self::Lab(BootCommand::Run(args)) => {
                let timeout = Duration::from_secs(args.timeout);
                guest::run(&args.guest.into(), &args.command, timeout)
            }
            Self::Lab(BootCommand::Test(args)) => steer_checks::run(&(*args).try_into()?),
            Self::Lab(BootCommand::Contracts(args)) => steer_contracts::run((*args).into()),
            Self::Lab(BootCommand::Soak(args)) => steer_checks::soak::run((*args).try_into()?),
            Self::Lab(BootCommand::Neutral(args)) => steer_trials::neutral::run((*args).into()),
            Self::Lab(BootCommand::Adapt(args)) => steer_trials::adapt::run((*args).try_into()?),
            Self::Lab(BootCommand::Journal(args)) => steer_trials::journal::run((*args).into()),
            Self::Lab(BootCommand::Drivers(args)) => steer_trials::drivers::run((*args).into()),
            Self::DriversHere(args) => {
                steer_trials::drivers::run_here(&args.modules, &args.scx_steer)
            }
            Self::JournalHere(args) => steer_trials::journal::run_here(&args.into()),
            Self::Ab(_) => {
                // The plan records the options as they were given, which clap's types have not.
                let command: Vec<String> = std::env::args().collect();
                steer_ab::run(ab::plan(&command[2..])?, command)
            }
            Self::Run(args) => steer_ab::experiment::run(&args.into(), &ab::plan),
            Self::Det(args) => args.run(),
            Self::Priced(command) => command.run(),
            Self::Guest => steer_lab::agent::serve(),
            Self::BpfStats => steer_lab::agent::print_bpf_stats(),
        }
    }
}
