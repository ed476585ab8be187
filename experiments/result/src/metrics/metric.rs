//! What a metric is, and how its values and ratios are shown.

use std::fmt;

use serde::Serialize;

use super::source::Source;
use crate::sample::Sample;
use steer_stats::Ratio;

/// Which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// What a ratio shows if its interval excludes 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The main arm does better.
    Better,
    /// The main arm does worse.
    Worse,
}

impl Verdict {
    /// The mark beside a ratio in a table.
    pub fn sign(self) -> char {
        match self {
            Self::Better => '+',
            Self::Worse => '-',
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Better => "better",
            Self::Worse => "worse",
        })
    }
}

/// One metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Name, as in `result.json`.
    pub name: &'static str,
    /// What it measures, in a few words.
    pub about: &'static str,
    /// Unit it is stored in; empty for shares.
    pub stored_unit: &'static str,
    /// Unit it is shown in.
    pub unit: &'static str,
    /// Stored units per shown unit.
    pub(super) scale: f64,
    /// Which direction is better.
    pub better: Better,
    pub(super) source: Source,
}

impl Metric {
    /// Whether the sample has the part with this metric. If it has, a missing value deserves a
    /// warning.
    pub(crate) fn is_recorded(&self, sample: &Sample) -> bool {
        self.source.is_in(sample)
    }

    /// The sample's value of this metric in its stored unit; `None` if it was not measured.
    pub fn value(&self, sample: &Sample) -> Option<f64> {
        self.source.value(sample)
    }

    /// What the ratio of this metric shows; `None` if its interval includes 1.
    pub fn verdict(&self, ratio: Ratio) -> Option<Verdict> {
        let better = (ratio.median > 1.0) == (self.better == Better::Higher);
        ratio.excludes_one().then_some(if better { Verdict::Better } else { Verdict::Worse })
    }

    /// A stored value, converted to the shown unit.
    pub fn in_unit(&self, value: f64) -> f64 {
        value / self.scale
    }

    /// A stored value as shown, without the unit.
    pub fn show(&self, value: f64) -> String {
        let shown = self.in_unit(value);
        let decimals = match () {
            () if self.unit.is_empty() => 3,
            () if shown >= 100.0 => 0,
            () => 2,
        };
        format!("{shown:.decimals$}")
    }
}
