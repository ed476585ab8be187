//! The project's targets for the main arm, and whether a result reaches them. A ratio is judged by
//! its interval: if it includes the bound, the target is open.

use std::fmt;

use super::metrics::{self, Better};
use super::mode::Mode;

/// One wanted figure.
pub struct Target {
    /// The metric.
    metric: &'static str,
    /// The arm to compare with; `None` if the target is about the main arm's own median.
    reference: Option<&'static str>,
    /// The value to reach. The metric says which side is better.
    bound: f64,
    /// When it applies.
    condition: &'static str,
}

/// The targets, in the order to show them.
const TARGETS: &[Target] = {
    const fn target(
        metric: &'static str,
        reference: Option<&'static str>,
        bound: f64,
        condition: &'static str,
    ) -> Target {
        Target { metric, reference, bound, condition }
    }
    &[
        target("local_share", None, 0.98, ""),
        target("mixed_share", None, 0.05, ""),
        target("home_share", None, 0.90, " (where the home CPU is NIC-local)"),
        target("throughput_per_core", Some("default"), 1.3, ""),
        target("throughput_per_core", Some("pinned"), 0.9, ""),
        target("rpc_p99", Some("default"), 1.0, ""),
    ]
};

/// Whether a steering mode reaches a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetVerdict {
    /// The bound is reached.
    Reached,
    /// The bound is missed.
    Missed,
    /// The interval includes the bound.
    Open,
}

impl fmt::Display for TargetVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reached => "reached",
            Self::Missed => "missed",
            Self::Open => "open",
        })
    }
}

/// A target with its verdict.
pub struct Reading {
    /// The target, like `local_share ≥ 0.98`.
    pub wanted: String,
    /// What was measured, like `1.32 [1.10, 1.45]`.
    pub found: String,
    /// The verdict.
    pub verdict: TargetVerdict,
}

/// Judges all targets whose figures this steering mode has.
pub fn read(main_arm: &str, mode: &Mode) -> Vec<Reading> {
    TARGETS.iter().filter_map(|target| target.read(main_arm, mode)).collect()
}

impl Target {
    fn read(&self, main_arm: &str, mode: &Mode) -> Option<Reading> {
        let metric = metrics::find(self.metric)?;
        let (lo, hi, found) = match self.reference {
            None => {
                let median = mode.median(main_arm, self.metric)?;
                (median, median, metric.show(median))
            }
            Some(reference) => {
                let ratio = mode.ratio(self.metric, &format!("{main_arm}/{reference}"))?;
                (ratio.lo, ratio.hi, ratio.to_string())
            }
        };
        let (sign, reached, missed) = match metric.better {
            Better::Higher => ("≥", lo >= self.bound, hi < self.bound),
            Better::Lower => ("≤", hi <= self.bound, lo > self.bound),
        };
        let of = self.reference.map(|reference| format!(" × {reference}")).unwrap_or_default();
        Some(Reading {
            wanted: format!("{} {sign} {:.2}{of}{}", self.metric, self.bound, self.condition),
            found,
            verdict: match (reached, missed) {
                (true, _) => TargetVerdict::Reached,
                (_, true) => TargetVerdict::Missed,
                _ => TargetVerdict::Open,
            },
        })
    }
}
