//! How many rounds to measure in a steering mode: a fixed number, or until an interval is narrow
//! enough.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use steer_result::Mode;
use steer_scenario::arm::Arm;
use steer_stats::{Precision, Ratio, Rounds};

/// The metric whose interval counts.
const METRIC: &str = "throughput_per_core";

/// How many rounds to measure.
#[derive(Debug, Clone)]
pub struct RoundsOptions {
    /// Rounds; in each, every arm is measured once, so that arms can be compared in pairs.
    pub pairs: u32,
    /// Add rounds beyond --pairs, in each steering mode, until the interval of throughput_per_core
    /// (ratio to the first other arm) lies within this share of its middle on both sides.
    pub until_interval: Option<Precision>,
    /// Start no round of --until-interval later than this after the first. All steering modes share
    /// this time.
    pub budget: u32,
}

impl RoundsOptions {
    /// Checks that there are two arms, so that there is an interval.
    pub(super) fn check(&self, arms: &[Arm]) -> Result<()> {
        ensure!(
            self.until_interval.is_none() || arms.len() > 1,
            "--until-interval needs an arm to compare with: name two in --arms"
        );
        Ok(())
    }

    /// The name of a round, for the progress display.
    pub(super) fn name(&self, round: u32) -> String {
        let of =
            self.until_interval.map_or_else(|| format!(" of {}", self.pairs), |_| String::new());
        format!("round {}{of}", round + 1)
    }

    /// When the rounds of a steering mode end. `share` is the part of the budget for this mode and
    /// those before it. A mode's unused time goes to the next one.
    pub(super) fn end(&self, begun: Instant, share: f64) -> End {
        let budget = Duration::from_secs(60 * u64::from(self.budget));
        End {
            pairs: self.pairs,
            rounds: self.until_interval.map(|wanted| Rounds::new(wanted, self.pairs)),
            deadline: begun + budget.mul_f64(share),
        }
    }
}

/// Decides when the rounds of a steering mode end.
pub(super) struct End {
    pairs: u32,
    rounds: Option<Rounds>,
    deadline: Instant,
}

/// Whether a steering mode needs another round.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// Yes: it is one of the fixed number.
    Planned,
    /// Yes, to narrow the interval.
    Further,
    /// No. The text says why, if the interval is not narrow enough.
    Over(Option<String>),
}

impl End {
    /// What to do after `done` rounds with these figures.
    pub(super) fn after(&mut self, done: u32, mode: Option<&Mode>) -> Next {
        if done < self.pairs {
            return Next::Planned;
        }
        let Some(rounds) = &mut self.rounds else { return Next::Over(None) };
        let ratio = mode.and_then(main_ratio);
        if !rounds.go_on(done, ratio) {
            return Next::Over(None);
        }
        if Instant::now() < self.deadline {
            return Next::Further;
        }
        let reach = ratio.map_or("is not known".to_owned(), |ratio| {
            format!("is within {:.0} % of its middle", 100.0 * ratio.reach())
        });
        Next::Over(Some(format!(
            "--budget ended the rounds after {done}, before --until-interval did: the interval of \
             {METRIC} {reach}; ask for less, or give more time"
        )))
    }
}

/// The main arm's ratio to the first other arm.
fn main_ratio(mode: &Mode) -> Option<Ratio> {
    mode.ratio(METRIC, mode.pairs().first()?)
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;

    fn mode(reach: f64) -> Mode {
        let ratio = Ratio { median: 1.0, lo: 1.0 / (1.0 + reach), hi: 1.0 + reach };
        let pairs = IndexMap::from([("scx_steer/default".to_owned(), Some(ratio))]);
        let ratios = IndexMap::from([(METRIC.to_owned(), pairs)]);
        Mode { ratios, ..Mode::default() }
    }

    fn args(until: Option<&str>, budget: u32) -> RoundsOptions {
        let until_interval = until.map(|percent| percent.parse().unwrap());
        RoundsOptions { pairs: 5, until_interval, budget }
    }

    #[test]
    fn a_fixed_number_is_that_number() {
        let mut end = args(None, 60).end(Instant::now(), 1.0);
        assert_eq!(end.after(4, None), Next::Planned);
        assert_eq!(end.after(5, Some(&mode(0.9))), Next::Over(None));
    }

    #[test]
    fn rounds_go_on_until_the_interval_is_narrow() {
        let mut end = args(Some("10"), 60).end(Instant::now(), 1.0);
        assert_eq!(end.after(4, Some(&mode(0.01))), Next::Planned);
        assert_eq!(end.after(5, Some(&mode(0.01))), Next::Further, "five are too few to judge by");
        assert_eq!(end.after(6, Some(&mode(0.2))), Next::Further);
        assert_eq!(end.after(7, None), Next::Further);
        assert_eq!(end.after(8, Some(&mode(0.09))), Next::Further, "the first beyond it");
        assert_eq!(end.after(9, Some(&mode(0.11))), Next::Further);
        assert_eq!(end.after(10, Some(&mode(0.11))), Next::Over(None));
    }

    #[test]
    fn the_budget_ends_them_and_says_so() {
        let mut end = args(Some("10"), 60).end(Instant::now(), 0.0);
        assert_eq!(end.after(4, Some(&mode(0.2))), Next::Planned, "--pairs is measured anyway");
        let Next::Over(Some(said)) = end.after(5, Some(&mode(0.2))) else { panic!("it goes on") };
        assert!(said.contains("after 5") && said.contains("within 20 %"), "{said}");
    }
}
