//! When enough rounds are measured: a rule that looks at the width of an interval alone.
//!
//! Going on until a difference can be claimed would claim one sooner or later, between equal arms
//! too. The width says nothing of where the interval lies. What looking at it costs all the same is
//! measured in `coverage.rs` and said in `docs/statistics.md`.

use std::str::FromStr;

use super::Ratio;

/// Rounds before the first look: with fewer, the interval rests on the noise being normal.
const FIRST: u32 = 6;
/// Rounds after the interval was found narrow enough. It is found so too early where the rounds so
/// far happen to agree too well; these did not take part in that choice.
const BEYOND: u32 = 2;

/// How narrow an interval has to be: its ends lie at most this share from its middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Precision(f64);

impl FromStr for Precision {
    type Err = String;

    /// A number of percent.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(Self(percent / 100.0)),
            _ => Err("write percent above 0 and up to 100, like 5".into()),
        }
    }
}

impl Precision {
    /// Whether the interval of so many rounds is narrow enough; one that is not known is not.
    pub(crate) fn reached(self, ratio: Option<Ratio>) -> bool {
        ratio.is_some_and(|ratio| ratio.reach() <= self.0)
    }
}

/// The rounds of one comparison, which end by themselves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    wanted: Precision,
    least: u32,
    /// The round after which no more are needed, once it is known.
    last: Option<u32>,
}

impl Rounds {
    /// At least so many.
    pub(crate) fn new(wanted: Precision, least: u32) -> Self {
        Self { wanted, least: least.max(FIRST), last: None }
    }

    /// Whether another round is needed after `done` of them, which gave this ratio.
    pub(crate) fn go_on(&mut self, done: u32, ratio: Option<Ratio>) -> bool {
        if self.last.is_none() && done >= self.least && self.wanted.reached(ratio) {
            self.last = Some(done + BEYOND);
        }
        self.last.is_none_or(|last| done < last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(median: f64) -> Option<Ratio> {
        Some(Ratio { median, lo: median / 1.05, hi: median * 1.05 })
    }

    #[test]
    fn only_the_width_counts() {
        let wanted: Precision = "6".parse().unwrap();
        for median in [0.1, 1.0, 7.0] {
            assert!(wanted.reached(around(median)), "{median}");
        }
        assert!(!"4".parse::<Precision>().unwrap().reached(around(1.0)));
        assert!(!wanted.reached(None));
        assert!(
            !wanted.reached(Some(Ratio { median: 0.0, lo: 0.0, hi: 0.0 })),
            "no zero has a width"
        );
        for bad in ["0", "-5", "101", "5 %", "nan"] {
            assert!(bad.parse::<Precision>().is_err(), "{bad}");
        }
    }

    #[test]
    fn two_rounds_follow_the_one_that_was_narrow_enough() {
        let mut rounds = Rounds::new(Precision(0.06), 3);
        let ratios = |done| if done == 4 || done >= 7 { around(1.0) } else { None };
        let needed: Vec<u32> =
            (1..20).take_while(|&done| rounds.go_on(done, ratios(done))).collect();
        assert_eq!(needed, (1..9).collect::<Vec<_>>());
    }
}
