//! The flags of the trials in the lab: `lab neutral` and `lab adapt`.

use std::path::PathBuf;

use anyhow::{Error, Result};
use clap::Args;
use steer_scenario::arm::Arm;
use steer_trials::adapt::AdaptOptions;
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
