//! The flags of the trials in the lab: `lab neutral`, `lab adapt`, `lab journal` and `lab drivers`.

use std::path::PathBuf;

use anyhow::{Error, Result};
use clap::Args;
use steer_scenario::arm::Arm;
use steer_trials::adapt::AdaptOptions;
use steer_trials::drivers::DriversOptions;
use steer_trials::journal::{HereOptions, JournalOptions};
use steer_trials::neutral::NeutralOptions;

use super::guest::GuestArgs;
use super::workload::WorkloadArgs;

/// Flags of `steer-bench lab neutral`.
#[derive(Debug, Args)]
pub(crate) struct NeutralArgs {
    /// Rounds. In each, every program is timed once under each scheduler.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) pairs: u32,
    /// The schedulers, named as for `ab`. The others are compared with the first.
    #[arg(
        long,
        value_name = "ARM,...",
        value_delimiter = ',',
        default_value = "default,scx_steer"
    )]
    pub(crate) arms: Vec<Arm>,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

impl From<NeutralArgs> for NeutralOptions {
    fn from(args: NeutralArgs) -> Self {
        let NeutralArgs { pairs, arms, guest } = args;
        Self { pairs, arms, guest: guest.into() }
    }
}

/// Flags of `steer-bench lab adapt`.
#[derive(Debug, Args)]
pub(crate) struct AdaptArgs {
    /// Rounds. In each round and under each scheduler, every long flow begins once, and its IRQ
    /// moves once.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) rounds: u16,
    /// The schedulers, named as for `ab`.
    #[arg(
        long,
        value_name = "ARM,...",
        value_delimiter = ',',
        default_value = "default,scx_steer"
    )]
    pub(crate) arms: Vec<Arm>,
    /// Write all times to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

impl TryFrom<AdaptArgs> for AdaptOptions {
    type Error = Error;

    fn try_from(args: AdaptArgs) -> Result<Self> {
        let AdaptArgs { rounds, arms, out, workload, guest } = args;
        Ok(Self { rounds, arms, out, workload: workload.try_into()?, guest: guest.into() })
    }
}

/// Flags of `steer-bench lab journal`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 no setting lost, no foreign value overwritten; 1 otherwise, or the trials cannot run.")]
pub(crate) struct JournalArgs {
    /// How many trials. In each, an administrator has set some things; then up to six events: modes
    /// are applied and put back, killed at any step, writes fail, another program changes settings,
    /// the NIC leaves, the host reboots, ...; then everything is put back and compared.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) trials: u64,
    /// How many of these in a guest, on a NIC with interrupts [default: one of 20]. The others use
    /// a veth pair in a namespace of this host.
    #[arg(long, value_name = "N")]
    pub(crate) in_guest: Option<u64>,
    /// Seed of the random events. The same seed gives the same trials.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of the first trial: to repeat one of an earlier run, with --trials 1.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) first: u64,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

impl From<JournalArgs> for JournalOptions {
    fn from(args: JournalArgs) -> Self {
        let JournalArgs { trials, in_guest, seed, first, guest } = args;
        let in_guest = in_guest.unwrap_or(trials / 20);
        Self { trials, in_guest, first, seed, guest: guest.into() }
    }
}

/// Flags of the hidden command that runs trials where it is started.
#[derive(Debug, Args)]
pub(crate) struct JournalHereArgs {
    #[arg(long)]
    interface: String,
    #[arg(long)]
    first: u64,
    #[arg(long)]
    trials: u64,
    #[arg(long)]
    modes: bool,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    scx_steer: PathBuf,
}

impl From<JournalHereArgs> for HereOptions {
    fn from(args: JournalHereArgs) -> Self {
        let JournalHereArgs { interface, first, trials, modes, seed, scx_steer } = args;
        Self { interface, first, trials, modes, seed, scx_steer }
    }
}

/// Flags of `steer-bench lab drivers`.
#[derive(Debug, Args)]
#[command(after_help = "\
The devices: virtio_net, e1000e and igb as QEMU emulates them, veth, and VLAN, bond and
bridge on top of these. The guest boots Debian's kernel with the drivers of real NICs.

Exit codes: 0 each mode works, has no effect, or is refused and changes nothing; 1 otherwise, or the
trials cannot run.")]
pub(crate) struct DriversArgs {
    /// Write the table to this file, too, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// A module of a simulated device for the guest's kernel, from
    /// experiments/lab/modules/build.sh. May be repeated.
    #[arg(long = "module", value_name = "FILE")]
    pub(crate) modules: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

impl From<DriversArgs> for DriversOptions {
    fn from(args: DriversArgs) -> Self {
        let DriversArgs { json, modules, guest } = args;
        Self { json, modules, guest: guest.into() }
    }
}

/// Flags of the hidden command that tries the devices of the guest.
#[derive(Debug, Args)]
pub(crate) struct DriversHereArgs {
    #[arg(long = "module")]
    pub(crate) modules: Vec<PathBuf>,
    #[arg(long)]
    pub(crate) scx_steer: PathBuf,
}
