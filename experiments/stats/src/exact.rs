//! Intervals from exact probabilities: how many values to leave out at each end.

/// Probability that an interval misses the true value on one side.
const TAIL: f64 = 0.025;
/// A normal variable exceeds this many standard deviations with probability `TAIL`.
const NORMAL: f64 = 1.96;
/// Up to this many samples, probabilities are counted exactly. Above, the normal approximation is
/// as good, and cheap.
pub(super) const EXACT: usize = 60;

/// The interval that leaves out `cut` values at each end.
pub(super) fn between(mut values: Vec<f64>, cut: usize) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[cut], values[values.len() - 1 - cut])
}

/// How many values an interval may leave out at each end. `chances[n]` is the probability that
/// exactly `n` values lie below the true one. `None` when not even the whole range is wide enough.
pub(super) fn cut(chances: &[f64]) -> Option<usize> {
    let sums = chances.iter().scan(0.0, |sum, chance| {
        *sum += chance;
        Some(*sum)
    });
    sums.take_while(|&sum| sum <= TAIL).count().checked_sub(1)
}

/// The same by the normal approximation, for a count with this mean and variance.
pub(super) fn normal_cut(mean: f64, variance: f64) -> usize {
    (mean - NORMAL * variance.sqrt() - 0.5) as usize
}
