//! The flags of the checks in the lab: `lab test` and `lab soak`.

use std::path::PathBuf;

use anyhow::{Error, Result};
use clap::Args;
use steer_checks::soak::SoakOptions;
use steer_checks::{Clock, Inside, TestOptions};
use steer_ground::word::Word;

use super::choice::choice;
use super::guest::GuestArgs;
use super::workload::WorkloadArgs;

/// Flags of `steer-bench lab test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Run only the checks whose names contain this. Can be given several times.
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,
    /// Record the program sizes for this kernel (in experiments/program-sizes.json, below the
    /// current folder) instead of comparing with them. By the real clock.
    #[arg(long)]
    pub(crate) record: bool,
    /// The guests' clock. With model, the traffic has lower rates unless others are given, each node
    /// has at most 768 MiB, and the checks run inside the guests, two guests at a time.
    #[arg(long, value_name = "CLOCK", value_parser = choice(clock), default_value = Clock::default().word())]
    pub(crate) clock: Clock,
    /// This program runs inside the guest of this number. `--clock model` starts it there.
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) here: Option<usize>,
    /// The network namespace from which clients reach that guest.
    #[arg(long, value_name = "PATH", hide = true)]
    pub(crate) here_net: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

impl TryFrom<TestArgs> for TestOptions {
    type Error = Error;

    fn try_from(args: TestArgs) -> Result<Self> {
        let TestArgs { only, record, clock, here, here_net, workload, guest } = args;
        let (workload, guest) = (workload.try_into()?, guest.into());
        let clock = if record { Clock::Real } else { clock };
        let inside = here.map(|number| Inside { number, net: here_net });
        // for the guests' own checks, as they were given: clap's types have not that text
        let flags = std::env::args().skip(3).collect();
        Ok(Self { only, record, clock, flags, inside, workload, guest })
    }
}

/// Describes the clocks, for the help.
fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::Model => "Every instruction takes 10 ns: a slow or busy machine changes nothing",
        Clock::Real => "Real time",
    }
}

/// Flags of `steer-bench lab soak`.
#[derive(Debug, Args)]
pub(crate) struct SoakArgs {
    /// Duration in minutes.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) minutes: u32,
    /// Folder for the guest's console and, after a failure, the scheduler's log.
    #[arg(long, value_name = "DIR", default_value = "target/soak")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

impl TryFrom<SoakArgs> for SoakOptions {
    type Error = Error;

    fn try_from(args: SoakArgs) -> Result<Self> {
        let SoakArgs { minutes, out, workload, guest } = args;
        Ok(Self { minutes, out, workload: workload.try_into()?, guest: guest.into() })
    }
}
