//! Medians, and ratios of two arms with intervals that do not invent gains. How often the
//! intervals of equal arms hold 1 is measured in `coverage.rs`; `docs/statistics.md` has the
//! figures and the sources.

#[cfg(test)]
mod coverage;
mod paired;
mod precision;
mod rank_sum;
mod sign;
#[cfg(test)]
mod tests;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use precision::{Precision, Rounds};

/// Chance that an interval misses the truth on one side.
const TAIL: f64 = 0.025;
/// Standard deviations that a normal variable exceeds with that chance.
const NORMAL: f64 = 1.96;
/// Samples up to which chances are counted out; above, the normal curve is as good and cheap.
const EXACT: usize = 60;

/// The ratio of two arms, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Ratio {
    /// Median of the pairs' ratios.
    pub(crate) median: f64,
    /// Lower end of the 95 % interval. From six pairs on, it is that of the signed-rank test; with
    /// fewer, it spans all pairs and Student's interval of their ratios' logarithms.
    pub(crate) lo: f64,
    /// Upper end of the interval.
    pub(crate) hi: f64,
}

impl Ratio {
    /// The ratio of `subject` to `reference`, pair by pair.
    ///
    /// `None` with fewer than two pairs, which say nothing of the noise, when a pair lacks either
    /// value, or when a ratio is undefined because the reference is zero: leaving such pairs out
    /// would bias what remains.
    pub(crate) fn paired(pairs: &[(Option<f64>, Option<f64>)]) -> Option<Self> {
        let ratios: Option<Vec<f64>> = pairs
            .iter()
            .map(|&(subject, reference)| Some(subject? / reference?).filter(|r| r.is_finite()))
            .collect();
        let ratios = ratios?;
        Some(Self::around(median(&ratios)?, paired::interval(&ratios)?))
    }

    /// The ratio of the medians of two sets of samples that nothing pairs.
    ///
    /// `None` when there are too few for a 95 % interval (four of each will do), or when a
    /// reference is zero.
    pub(crate) fn unpaired(subject: &[f64], reference: &[f64]) -> Option<Self> {
        let ratio = median(subject)? / median(reference)?;
        Some(Self::around(ratio, rank_sum::interval(subject, reference)?))
    }

    /// An estimate and an interval that was not made from it, but must hold it.
    fn around(median: f64, (lo, hi): (f64, f64)) -> Self {
        // JSON knows no infinity.
        Self { median, lo: lo.min(median), hi: hi.max(median).min(f64::MAX) }
    }

    /// How far the ends of the interval are from its middle: 0.05 where both are at most 5 % off. The
    /// middle is the geometric one, so that the reach does not depend on where the interval lies.
    pub(crate) fn reach(self) -> f64 {
        (self.hi / self.lo).sqrt() - 1.0
    }

    /// Whether the interval lies wholly on one side of 1, so that a difference can be claimed.
    pub(crate) fn excludes_one(self) -> bool {
        self.lo > 1.0 || self.hi < 1.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Ends beyond this are only called so: two pairs can give an interval of any width.
        const FAR: f64 = 9999.0;
        // Three digits that count, so that tables keep their width.
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

/// The median of one arm's samples, with its interval. Two arms of a run are not compared by these:
/// their rounds are paired, and [`Ratio::paired`] makes use of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Median {
    pub(crate) median: f64,
    /// Lower end of the 95 % interval; with fewer than six samples the least of them.
    pub(crate) lo: f64,
    /// Upper end of the interval.
    pub(crate) hi: f64,
}

impl Median {
    /// The median of samples; `None` when one of them is, or there are none.
    pub(crate) fn of(samples: &[Option<f64>]) -> Option<Self> {
        let known: Vec<f64> = samples.iter().copied().collect::<Option<_>>()?;
        let (lo, hi) = sign::interval(&known)?;
        Some(Self { median: median(&known)?, lo, hi })
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

/// The interval that leaves out `cut` values at each end.
fn between(mut values: Vec<f64>, cut: usize) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[cut], values[values.len() - 1 - cut])
}

/// How many values an interval may leave out at each end, when `chances[n]` is the chance that
/// exactly `n` lie below the truth; `None` when not even the whole range is wide enough.
fn cut(chances: &[f64]) -> Option<usize> {
    let sums = chances.iter().scan(0.0, |sum, chance| {
        *sum += chance;
        Some(*sum)
    });
    sums.take_while(|&sum| sum <= TAIL).count().checked_sub(1)
}

/// The same by the normal curve, for a count of that mean and variance.
fn normal_cut(mean: f64, variance: f64) -> usize {
    (mean - NORMAL * variance.sqrt() - 0.5) as usize
}
