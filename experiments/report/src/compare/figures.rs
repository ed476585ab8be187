//! The figures that two results have in common, and the ratios of B to A.

use indexmap::IndexMap;
use serde::Serialize;

use steer_result::Mode;
use steer_result::metrics::{METRICS, Metric, Verdict};
use steer_stats::Ratio;

/// By steering mode, arm and metric.
pub(super) type Modes = IndexMap<String, IndexMap<String, Figures>>;

/// One arm of a steering mode, by metric.
pub(super) type Figures = IndexMap<&'static str, Figure>;

/// One metric of one arm in both runs.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    /// Median in A; null if a sample lacks the metric.
    pub(super) a: Option<f64>,
    /// Median in B.
    pub(super) b: Option<f64>,
    /// B / A; null if a median is null, if A has zeros, or if there are too few rounds.
    pub(super) ratio: Option<Ratio>,
    /// Present only if the interval excludes 1.
    pub(super) verdict: Option<Verdict>,
}

/// One arm of a steering mode in both runs.
pub(super) fn figures(arm: &str, a: &Mode, b: &Mode) -> Figures {
    let samples = |mode: &Mode, metric: &str| -> Option<Vec<f64>> {
        mode.arms.get(arm)?.get(metric)?.samples.iter().copied().collect()
    };
    let figure = |metric: &Metric| {
        let both = samples(a, metric.name).zip(samples(b, metric.name));
        let ratio = both.and_then(|(a, b)| Ratio::unpaired(&b, &a));
        Figure {
            a: a.median(arm, metric.name),
            b: b.median(arm, metric.name),
            ratio,
            verdict: ratio.and_then(|ratio| metric.verdict(ratio)),
        }
    };
    let measured = METRICS.iter().filter(|metric| a.has(metric) || b.has(metric));
    measured.map(|metric| (metric.name, figure(metric))).collect()
}
