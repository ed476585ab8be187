//! The figures of one steering mode. The comments are the descriptions in the result's JSON Schema.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metrics::{METRICS, Metric};
use steer_stats::Ratio;

/// What was found in one steering mode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mode {
    /// By arm and metric. `x-metrics` of this schema describes the metrics. Metrics of a part that
    /// no sample has are left out.
    pub arms: IndexMap<String, IndexMap<String, Summary>>,
    /// By metric and pair of arms, like `scx_steer/default`. The pair of equal arms comes last, if
    /// there is one. Null if a sample lacks the metric, the reference is zero, or there are fewer
    /// than two pairs.
    pub ratios: IndexMap<String, IndexMap<String, Option<Ratio>>>,
}

impl Mode {
    /// The pairs of arms that have ratios, like `scx_steer/default`.
    pub fn pairs(&self) -> Vec<&String> {
        self.ratios.values().next().into_iter().flat_map(IndexMap::keys).collect()
    }

    /// Whether some sample has a metric.
    pub fn has(&self, metric: &Metric) -> bool {
        let summaries = self.arms.values().filter_map(|metrics| metrics.get(metric.name));
        summaries.flat_map(|summary| &summary.samples).any(Option::is_some)
    }

    /// The metrics that some sample has, in the order to show them.
    pub fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        METRICS.iter().filter(|metric| self.has(metric))
    }

    /// A pair's ratio of a metric, if it has one.
    pub fn ratio(&self, metric: &str, pair: &str) -> Option<Ratio> {
        *self.ratios.get(metric)?.get(pair)?
    }

    /// An arm's median of a metric, if it has one.
    pub fn median(&self, arm: &str, metric: &str) -> Option<f64> {
        self.arms.get(arm)?.get(metric)?.median
    }
}

/// One metric of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Median of the samples; null if one of them is null.
    pub median: Option<f64>,
    /// By round; null if the metric could not be measured.
    pub samples: Vec<Option<f64>>,
}
