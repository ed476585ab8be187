//! The flags of the checks in the lab: `lab test` and `lab soak`.

use anyhow::{Error, Result};
use clap::Args;
use steer_checks::TestOptions;
use steer_checks::soak::SoakOptions;

use super::guest::GuestArgs;
use super::workload::WorkloadArgs;

/// Flags of `steer-bench lab test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Run only the checks whose names contain this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) only: String,
    /// Record the program sizes for this kernel (in experiments/program-sizes.json, below the
    /// current folder) instead of comparing with them.
    #[arg(long)]
    pub(crate) record: bool,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

impl TryFrom<TestArgs> for TestOptions {
    type Error = Error;

    fn try_from(args: TestArgs) -> Result<Self> {
        let TestArgs { only, record, workload, guest } = args;
        Ok(Self { only, record, workload: workload.try_into()?, guest: guest.into() })
    }
}

/// Flags of `steer-bench lab soak`.
#[derive(Debug, Args)]
pub(crate) struct SoakArgs {
    /// Duration in minutes.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) minutes: u32,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

impl TryFrom<SoakArgs> for SoakOptions {
    type Error = Error;

    fn try_from(args: SoakArgs) -> Result<Self> {
        let SoakArgs { minutes, workload, guest } = args;
        Ok(Self { minutes, workload: workload.try_into()?, guest: guest.into() })
    }
}
