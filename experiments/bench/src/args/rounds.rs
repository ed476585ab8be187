//! The flags for the number of rounds.

use clap::Args;
use steer_ab::RoundsOptions;
use steer_stats::Precision;

/// Flags for the number of rounds.
#[derive(Debug, Args)]
pub(crate) struct RoundsArgs {
    /// Rounds; in each, every arm is measured once, so that arms can be compared in pairs.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) pairs: u32,
    /// Go on past --pairs, to six rounds at least, until the interval of throughput_per_core (ratio
    /// to the first other arm) is within PERCENT of its middle on either side, in each world. Only
    /// its width is looked at, never whether it holds 1: see docs/statistics.md.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) until_interval: Option<Precision>,
    /// Start no round of --until-interval later than this after the first, all worlds together.
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
