//! The virtual lab: kernels, guests, their network and the runs in them.

pub(crate) mod console;
pub(crate) mod emulator;
pub(crate) mod facts;
pub(crate) mod guest;
pub(crate) mod initramfs;
pub(crate) mod kernel;
pub(crate) mod net;
pub(crate) mod progress;
pub(crate) mod qemu;
pub(crate) mod shape;
pub(crate) mod steering;
mod steering_program;
pub(crate) mod tool;

use anyhow::Result;
use clap::{Args, Subcommand};

use kernel::{Source, Wanted};
use progress::Progress;

/// Subcommands that work on the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Download the kernels that guests boot.
    #[command(subcommand)]
    Kernel(KernelCommand),
    /// Boot the virtual lab.
    #[command(subcommand)]
    Lab(BootCommand),
    /// Compare schedulers on the same traffic, interleaved, in the lab or on this host.
    Ab(Box<crate::run::ab::AbArgs>),
    /// Run the experiments of spec files: A/B runs, one question each.
    Run(crate::run::experiment::RunArgs),
    /// Repeat a run exactly: a guest whose clock counts instructions.
    Det(Box<crate::run::det::DetArgs>),
    /// Serve the lab from inside its guest; started by the guest's first process.
    #[command(hide = true)]
    Guest,
    /// Print what the kernel counted of each BPF program; for `det --bpf-stats`, in its guest.
    #[command(hide = true)]
    BpfStats,
}

/// What to do with kernels.
#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// Fetch the newest kernel of a series, unless it is cached.
    Fetch(FetchArgs),
}

/// Flags of `steer-bench kernel fetch`.
#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// Series, such as 6.18, or version, such as 6.18.15.
    #[arg(default_value = "6.18")]
    kernel: Wanted,
    #[command(flatten)]
    source: Source,
}

/// What to do in the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum BootCommand {
    /// A shell in the guest, on this terminal.
    Shell(guest::GuestArgs),
    /// Run one command in a fresh guest and print what it says.
    Run(guest::RunArgs),
    /// Load and unload scx_steer under traffic, with CPUs and NICs coming and going.
    Test(Box<crate::run::check::TestArgs>),
    /// Load it with everything at once, for minutes.
    Soak(Box<crate::run::check::soak::SoakArgs>),
    /// Time programs without traffic under scx_steer and the default scheduler, in turn.
    Neutral(Box<crate::run::neutral::NeutralArgs>),
    /// Time how soon placement follows when a long flow begins, and when an IRQ moves.
    Adapt(Box<crate::run::adapt::AdaptArgs>),
}

impl LabCommand {
    /// Runs the subcommand to its end.
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::Kernel(KernelCommand::Fetch(args)) => {
                let kernel = args.source.get(&args.kernel, &Progress::spinner())?;
                println!("{}", kernel.release);
                Ok(())
            }
            Self::Lab(BootCommand::Shell(args)) => guest::shell(&args),
            Self::Lab(BootCommand::Run(args)) => guest::run(&args),
            Self::Lab(BootCommand::Test(args)) => crate::run::check::run(*args),
            Self::Lab(BootCommand::Soak(args)) => crate::run::check::soak::run(*args),
            Self::Lab(BootCommand::Neutral(args)) => crate::run::neutral::run(*args),
            Self::Lab(BootCommand::Adapt(args)) => crate::run::adapt::run(*args),
            Self::Ab(args) => crate::run::ab::run(*args),
            Self::Run(args) => crate::run::experiment::run(&args),
            Self::Det(args) => crate::run::det::run(*args),
            Self::Guest => crate::guest::serve(),
            Self::BpfStats => crate::guest::print_bpf_stats(),
        }
    }
}
