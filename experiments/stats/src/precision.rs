//! Decides when enough rounds are measured, from the width of an interval alone.
//!
//! A rule that stops once a difference shows would find one sooner or later, even between equal
//! arms. The width does not depend on where the interval lies. Looking at it still costs some
//! accuracy: `coverage.rs` measures how much, and `docs/statistics.md` reports it.

use std::str::FromStr;

use super::Ratio;

/// Rounds before the first look. With fewer, the interval assumes normal noise.
const FIRST: u32 = 6;
/// Rounds to measure after the interval was narrow enough. Rounds that agree too well by chance
/// make it narrow too early; these extra rounds had no part in that decision.
const BEYOND: u32 = 2;

/// How narrow an interval has to be: its ends are at most this share away from its middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision(f64);

impl FromStr for Precision {
    type Err = String;

    /// Parses a percentage, written without the sign.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(Self(percent / 100.0)),
            _ => Err("write percent above 0 and up to 100, like 5".into()),
        }
    }
}

impl Precision {
    /// Whether the interval is narrow enough. An unknown interval is not.
    pub fn reached(self, ratio: Option<Ratio>) -> bool {
        ratio.is_some_and(|ratio| ratio.reach() <= self.0)
    }
}

/// Decides how many rounds one comparison takes.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    wanted: Precision,
    least: u32,
    /// The last round, once it is known.
    last: Option<u32>,
}

impl Rounds {
    /// Measures at least `least` rounds.
    pub fn new(wanted: Precision, least: u32) -> Self {
        Self { wanted, least: least.max(FIRST), last: None }
    }

    /// Whether another round is needed after `done` rounds with this ratio.
    pub fn go_on(&mut self, done: u32, ratio: Option<Ratio>) -> bool {
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
            "zero has no relative width"
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
