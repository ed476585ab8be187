//! The flags of `steer-bench hog` and `steer-bench contend`.

use clap::{Args, value_parser};
use steer_ground::cpus::CpuList;
use steer_ground::units::Seconds;
use steer_traffic::contend::ContendOptions;
use steer_traffic::hog::HogOptions;

/// Flags of `steer-bench hog`.
#[derive(Debug, Args)]
pub(crate) struct HogArgs {
    /// CPUs that a hog may run on, like 0-1,4. Repeat for more hogs.
    #[arg(long = "cpus", value_name = "LIST", required = true)]
    pub(crate) sets: Vec<CpuList>,
    /// Hogs on each --cpus list in each stage of a shifting load, like 1,0,4.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    #[arg(value_parser = value_parser!(u16).range(0..=1024))]
    pub(crate) stages: Vec<u16>,
    /// Seconds before the first stage is counted. Its hogs already run.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub(crate) lead: Seconds,
    /// Length of all stages together, in seconds. All have the same length; the hogs of the last
    /// continue afterwards.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub(crate) duration: Seconds,
}

impl From<HogArgs> for HogOptions {
    fn from(args: HogArgs) -> Self {
        let HogArgs { sets, stages, lead, duration } = args;
        Self { sets, stages, lead, duration }
    }
}

/// Flags of `steer-bench contend`.
#[derive(Debug, Args)]
pub(crate) struct ContendArgs {
    /// Threads. None of them sleeps.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// How long the threads compete for the CPUs, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub(crate) duration: u16,
}

impl From<ContendArgs> for ContendOptions {
    fn from(args: ContendArgs) -> Self {
        let ContendArgs { threads, duration } = args;
        Self { threads, duration }
    }
}
