//! Medians, ratios of paired samples and their bootstrap intervals.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Resamples behind an interval: its ends then move by less than the samples' own spread does.
const RESAMPLES: usize = 10_000;

/// The ratio of two arms over the pairs of a run, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Ratio {
    /// Median of the pairs' ratios.
    pub(crate) median: f64,
    /// Lower end of the 95 % bootstrap percentile interval of that median.
    pub(crate) lo: f64,
    /// Upper end of the interval.
    pub(crate) hi: f64,
}

impl Ratio {
    /// The ratio of `subject` to `reference`, pair by pair. The interval resamples the pairs with
    /// replacement; with fewer than six it spans all of them, for nothing narrower can be claimed.
    /// The same seed gives the same interval.
    ///
    /// `None` when there is no pair, when a pair lacks either value, or when a ratio is undefined
    /// because the reference is zero: leaving such pairs out would bias what remains.
    pub(crate) fn of_pairs(pairs: &[(Option<f64>, Option<f64>)], seed: u64) -> Option<Self> {
        let ratios: Option<Vec<f64>> = pairs
            .iter()
            .map(|&(subject, reference)| Some(subject? / reference?).filter(|r| r.is_finite()))
            .collect();
        let ratios = ratios?;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut resample = vec![0.0; ratios.len()];
        let mut medians = Vec::with_capacity(RESAMPLES);
        for _ in 0..RESAMPLES {
            resample.fill_with(|| ratios[random.usize(..ratios.len())]);
            medians.push(median(&resample)?);
        }
        medians.sort_by(f64::total_cmp);
        let tail = RESAMPLES / 40;
        Some(Self {
            median: median(&ratios)?,
            lo: medians[tail],
            hi: medians[RESAMPLES - 1 - tail],
        })
    }

    /// Whether the interval lies wholly on one side of 1, so that a difference can be claimed.
    pub(crate) fn excludes_one(self) -> bool {
        self.lo > 1.0 || self.hi < 1.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Three digits that count, so that tables keep their width.
        let decimals = if self.hi >= 10.0 { 1 } else { 2 };
        let Self { median, lo, hi } = self;
        write!(f, "{median:.decimals$} [{lo:.decimals$}, {hi:.decimals$}]")
    }
}

/// The middle value, or the mean of the two middle ones; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn positive() -> impl Strategy<Value = f64> {
        0.001..1e9
    }

    fn of(pairs: &[(f64, f64)]) -> Option<Ratio> {
        let pairs: Vec<_> = pairs.iter().map(|&(a, b)| (Some(a), Some(b))).collect();
        Ratio::of_pairs(&pairs, 1)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// An arm against itself is exactly 1, without any width.
        #[test]
        fn identical_arms_are_exactly_one(values in prop::collection::vec(positive(), 1..12)) {
            let pairs: Vec<_> = values.iter().map(|&value| (value, value)).collect();
            prop_assert_eq!(of(&pairs), Some(Ratio { median: 1.0, lo: 1.0, hi: 1.0 }));
        }

        /// The interval holds the median and stays within the pairs' own ratios.
        #[test]
        fn the_interval_holds_the_median(
            pairs in prop::collection::vec((positive(), positive()), 1..12),
        ) {
            let ratio = of(&pairs).unwrap();
            let ratios = pairs.iter().map(|(a, b)| a / b);
            let least = ratios.clone().fold(f64::INFINITY, f64::min);
            let most = ratios.fold(0.0, f64::max);
            prop_assert!(least <= ratio.lo && ratio.hi <= most);
            prop_assert!(ratio.lo <= ratio.median && ratio.median <= ratio.hi);
        }

        /// Another unit changes nothing; a power of two keeps the arithmetic exact.
        #[test]
        fn the_unit_does_not_matter(
            pairs in prop::collection::vec((positive(), positive()), 1..12),
            power in -8i32..8,
        ) {
            let unit = 2f64.powi(power);
            let scaled: Vec<_> = pairs.iter().map(|(a, b)| (a * unit, b * unit)).collect();
            prop_assert_eq!(of(&pairs), of(&scaled));
        }

        /// An effect that every pair shows is found, whatever the pairs have in common otherwise.
        #[test]
        fn pairing_cancels_what_both_arms_share(
            windows in prop::collection::vec(positive(), 5..12),
        ) {
            let pairs: Vec<_> = windows.iter().map(|&window| (window * 2.0, window)).collect();
            let ratio = of(&pairs).unwrap();
            prop_assert_eq!(ratio.median, 2.0);
            prop_assert!(ratio.excludes_one());
        }
    }

    /// Two arms of pure noise: the interval must hold 1 about 95 times in 100, and not 100.
    #[test]
    fn noise_is_rarely_taken_for_an_effect() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut noise = || 1.0 + random.f64();
        let runs: usize = (0..200)
            .map(|_| {
                let pairs: Vec<_> = (0..9).map(|_| (noise(), noise())).collect();
                usize::from(of(&pairs).unwrap().excludes_one())
            })
            .sum();
        assert!((1..=20).contains(&runs), "{runs} of 200 A/A runs claim a difference");
    }

    #[test]
    fn five_pairs_span_all_they_saw() {
        let ratio = of(&[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (4.0, 1.0), (5.0, 1.0)]).unwrap();
        assert_eq!(ratio, Ratio { median: 3.0, lo: 1.0, hi: 5.0 });
    }

    #[test]
    fn the_unknown_and_the_undefined_stay_none() {
        assert_eq!(Ratio::of_pairs(&[], 1), None);
        assert_eq!(Ratio::of_pairs(&[(Some(1.0), Some(1.0)), (None, Some(1.0))], 1), None);
        assert_eq!(Ratio::of_pairs(&[(Some(1.0), None)], 1), None);
        assert_eq!(of(&[(1.0, 0.0)]), None);
        assert_eq!(of(&[(0.0, 0.0)]), None);
        assert_eq!(of(&[(0.0, 2.0)]), Some(Ratio { median: 0.0, lo: 0.0, hi: 0.0 }));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    }
}
