//! Medians, and ratios of two arms with intervals that do not invent gains. steer-result's
//! `coverage.rs` measures how often the intervals of equal arms include 1. `docs/statistics.md` has
//! the figures and the sources.

mod exact;
mod paired;
mod precision;
mod rank_sum;
mod sign;
#[cfg(test)]
mod tests;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use precision::{Precision, Rounds};

/// The ratio of two arms, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// Median of the pairs' ratios.
    pub median: f64,
    /// Lower end of the 95 % interval. From six pairs on, the interval is that of the signed-rank
    /// test. With fewer, it spans all pairs' ratios and Student's interval of their logarithms.
    pub lo: f64,
    /// Upper end of the interval.
    pub hi: f64,
}

impl Ratio {
    /// The ratio of `arm` to `reference`, pair by pair.
    ///
    /// `None` with fewer than two pairs: they do not show the noise. `None` also when a pair lacks
    /// a value, or when a reference is zero: leaving such pairs out would bias the rest.
    pub fn paired(pairs: &[(Option<f64>, Option<f64>)]) -> Option<Self> {
        let ratios: Option<Vec<f64>> = pairs
            .iter()
            .map(|&(arm, reference)| Some(arm? / reference?).filter(|r| r.is_finite()))
            .collect();
        let ratios = ratios?;
        Some(Self::around(median(&ratios)?, paired::interval(&ratios)?))
    }

    /// The ratio of the medians of two sets of samples that are not paired.
    ///
    /// `None` when there are too few samples for a 95 % interval (four of each are enough), or when
    /// a reference is zero.
    pub fn unpaired(arm: &[f64], reference: &[f64]) -> Option<Self> {
        let ratio = median(arm)? / median(reference)?;
        Some(Self::around(ratio, rank_sum::interval(arm, reference)?))
    }

    /// Joins an estimate and an interval that was computed separately. Widens the interval if it
    /// does not include the estimate.
    fn around(median: f64, (lo, hi): (f64, f64)) -> Self {
        // JSON has no infinity.
        Self { median, lo: lo.min(median), hi: hi.max(median).min(f64::MAX) }
    }

    /// The distance from the middle of the interval to its ends, relative to the middle: 0.05 means
    /// 5 %. The middle is the geometric mean of the ends, so the reach does not depend on where the
    /// interval lies.
    pub fn reach(self) -> f64 {
        (self.hi / self.lo).sqrt() - 1.0
    }

    /// Whether the interval lies wholly on one side of 1: the run shows a difference.
    pub fn excludes_one(self) -> bool {
        self.lo > 1.0 || self.hi < 1.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// A higher end is printed as `>9999`: two pairs can give an interval of any width.
        const FAR: f64 = 9999.0;
        // Three significant digits, so that tables keep their width.
        let decimals = match self.hi {
            hi if hi >= 1000.0 => 0,
            hi if hi >= 10.0 => 1,
            _ => 2,
        };
        let Self { median, lo, hi } = self;
        write!(f, "{median:.decimals$} [{lo:.decimals$}, ")?;
        if *hi > FAR { write!(f, ">{FAR}]") } else { write!(f, "{hi:.decimals$}]") }
    }
}

/// The median of one arm's samples, with its interval. Do not compare two arms of a run by their
/// medians: their rounds are paired, and [`Ratio::paired`] uses that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Median {
    /// The middle sample, or the mean of the two in the middle.
    pub median: f64,
    /// Lower end of the 95 % interval; with fewer than six samples, the smallest sample.
    pub lo: f64,
    /// Upper end of the interval.
    pub hi: f64,
}

impl Median {
    /// The median of samples. `None` when a sample is missing, or there are no samples.
    pub fn of(samples: &[Option<f64>]) -> Option<Self> {
        let known: Vec<f64> = samples.iter().copied().collect::<Option<_>>()?;
        let (lo, hi) = sign::interval(&known)?;
        Some(Self { median: median(&known)?, lo, hi })
    }
}

/// The middle value, or the mean of the two middle ones. `None` if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}
