//! The flags of `steer-bench lab contracts`.

use std::path::PathBuf;

use clap::Args;
use steer_contracts::ContractsOptions;
use steer_scenario::arm::Arm;

use super::guest::GuestArgs;

/// Flags of `steer-bench lab contracts`.
#[derive(Debug, Args)]
#[command(after_help = "\
A mix is kept if each group's share of the CPU time is within 10 % of what the kernel's own
scheduler gives it, if no cpu.max is exceeded by more than 5 %, if the CPUs are as busy (less 10 %),
and if no runnable thread waited longer than the mix allows. A mix that seems broken is measured
twice more; then the medians decide. The mixes are in experiments/data/contract-mixes.toml.

Examples:
  steer-bench lab contracts
  steer-bench lab contracts --only 'cpu.max' --kernel 7.2 --json contracts.json
  steer-bench lab contracts --scheduler default                    the kernel's against itself
  steer-bench lab contracts --scheduler lavd=scx_lavd --with /usr/bin/scx_lavd")]
pub(crate) struct ContractsArgs {
    /// Measure only the mixes whose names contain this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) only: String,
    /// The scheduler to compare with the kernel's own, named as an arm of `ab`.
    #[arg(long, value_name = "ARM", default_value = "scx_steer")]
    pub(crate) scheduler: Arm,
    /// Write all figures to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

impl From<ContractsArgs> for ContractsOptions {
    fn from(args: ContractsArgs) -> Self {
        let ContractsArgs { only, scheduler, json, guest } = args;
        Self { only, scheduler, json, guest: guest.into() }
    }
}
