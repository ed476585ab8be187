//! The flags for the number of rounds.

use clap::Args;
use steer_ab::RoundsOptions;
use steer_stats::Precision;

/// Flags for the number of rounds.
#[derive(Debug, Args)]
pub(crate) struct RoundsArgs {
    /// Rounds. Each measures every arm once, so that arms can be compared in pairs.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) pairs: u32,
    /// Add rounds beyond --pairs, in each steering mode, until the interval of throughput_per_core
    /// (ratio to the first other arm) lies within PERCENT of its middle on both sides. Only its
    /// width counts, never whether it includes 1: see docs/statistics.md.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) until_interval: Option<Precision>,
    /// Start no round of --until-interval later than this after the first. All steering modes share
    /// this time.
    #[arg(long, value_name = "MINUTES", default_value_t = 60, requires = "until_interval")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) budget: u32,
}

impl From<RoundsArgs> for RoundsOptions {
    fn from(args: RoundsArgs) -> Self {
        let RoundsArgs { pairs, until_interval, budget } = args;
        Self { pairs, until_interval, budget }
    }
}
