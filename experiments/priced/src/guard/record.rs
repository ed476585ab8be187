//! The record of `steer-bench priced guard`, and how figures compare with it.

use std::fs;
use std::ops::Range;

use anyhow::{Context, Result, ensure};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use steer_lab::SCX_STEER;
use steer_result::{AbResult, Summary};

use crate::tools::digest;

/// The record, from the root of the repository.
const RECORD: &str = "experiments/priced/guard.json";
/// Metrics of which more is better. Their ratios to the other arms are compared.
const RATIOS: [&str; 3] = ["throughput_per_core", "rpcs_per_cpu_second", "throughput_per_cpu"];
/// What a ratio may lose.
const LOSS: f64 = 0.02;
/// Shares of the main arm, and the sign of what is better.
const SHARES: [(&str, f64); 3] = [("local_share", 1.0), ("home_share", 1.0), ("mixed_share", -1.0)];
/// How much worse a share may be.
const SHIFT: f64 = 0.02;

/// What was measured, by arm and metric; a value for each seed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Figures(IndexMap<String, IndexMap<String, Vec<f64>>>);

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// Hash of the emulator, the model and the prices. With others, figures do not compare.
    model: String,
    /// Release of the guest's kernel. Another one of its series moves the figures of all arms.
    kernel: String,
    figures: Figures,
}

impl Record {
    pub(super) fn new(result: &AbResult) -> Result<Self> {
        let kernel = result.environment.kernel.clone().context("the result names no kernel")?;
        Ok(Self { model: model_of(result)?, kernel, figures: Figures::of(result) })
    }

    pub(super) fn read() -> Result<Self> {
        let text = fs::read_to_string(RECORD).with_context(|| format!("reading {RECORD}"))?;
        serde_json::from_str(&text).with_context(|| format!("reading {RECORD}"))
    }

    pub(super) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(RECORD, text).with_context(|| format!("writing {RECORD}"))?;
        println!("{RECORD} is written");
        Ok(())
    }

    /// Says so if the kernel is another one.
    ///
    /// # Errors
    /// When the model is another one.
    pub(super) fn check_model(&self, result: &AbResult) -> Result<()> {
        ensure!(
            self.model == model_of(result)?,
            "{RECORD} is of another emulator, model or machine: steer-bench priced guard --record"
        );
        let kernel = result.environment.kernel.as_deref().unwrap_or_default();
        if kernel != self.kernel {
            println!("The record is of kernel {}, this is {kernel}.", self.kernel);
        }
        Ok(())
    }

    /// A line for each figure, with the one on record.
    pub(super) fn lines(&self, now: &Figures) -> Vec<String> {
        self.compare(now).into_iter().map(|it| it.line).collect()
    }

    /// The figures that are worse than on record.
    pub(super) fn losses(&self, now: &Figures) -> Vec<String> {
        self.compare(now).into_iter().filter(|it| it.worse).map(|it| it.line).collect()
    }

    fn compare(&self, now: &Figures) -> Vec<Compared> {
        let seeds = 0..now.seeds();
        let mut compared = Vec::new();
        let others = self.figures.0.keys().filter(|arm| *arm != SCX_STEER);
        for (other, metric) in others.flat_map(|arm| RATIOS.map(|metric| (arm, metric))) {
            let ratio = |of: &Figures| of.ratio(metric, other, seeds.clone());
            let (was, is) = (ratio(&self.figures), ratio(now));
            compared.push(Compared {
                line: format!("{metric}, {SCX_STEER} / {other}: {is:.3}, on record {was:.3}"),
                worse: is_below(is, was * (1.0 - LOSS)),
            });
        }
        for (metric, sign) in SHARES {
            let mean = |of: &Figures| of.mean(metric, SCX_STEER, seeds.clone());
            let (was, is) = (mean(&self.figures), mean(now));
            compared.push(Compared {
                line: format!("{metric}: {is:.3}, on record {was:.3}"),
                worse: is_below(sign * is, sign * was - SHIFT),
            });
        }
        compared
    }
}

/// What cannot be computed counts as below.
fn is_below(value: f64, least: f64) -> bool {
    value.is_nan() || least.is_nan() || value < least
}

struct Compared {
    line: String,
    worse: bool,
}

impl Figures {
    /// The figures that are compared. A value that was not measured is left out.
    pub(super) fn of(result: &AbResult) -> Self {
        let metrics = || RATIOS.into_iter().chain(SHARES.map(|(metric, _)| metric));
        let arms = result.modes.values().flat_map(|mode| &mode.arms);
        let of_arm = |summaries: &IndexMap<String, Summary>| {
            let values = |metric: &str| {
                let samples = summaries.get(metric).into_iter().flat_map(|it| &it.samples);
                samples.flatten().copied().collect()
            };
            metrics().map(|metric| (metric.to_owned(), values(metric))).collect()
        };
        Self(arms.map(|(arm, summaries)| (arm.clone(), of_arm(summaries))).collect())
    }

    /// Adds the values of further seeds.
    pub(super) fn append(&mut self, more: Self) {
        for (arm, metrics) in more.0 {
            for (metric, values) in metrics {
                self.0.entry(arm.clone()).or_default().entry(metric).or_default().extend(values);
            }
        }
    }

    fn seeds(&self) -> usize {
        self.values(RATIOS[0], SCX_STEER).len()
    }

    fn values(&self, metric: &str, arm: &str) -> &[f64] {
        self.0.get(arm).and_then(|metrics| metrics.get(metric)).map_or(&[], Vec::as_slice)
    }

    /// Geometric mean, over some seeds, of the main arm's ratio to another arm; NaN if a value is
    /// missing.
    fn ratio(&self, metric: &str, other: &str, seeds: Range<usize>) -> f64 {
        let log = |arm| self.mean_of(metric, arm, seeds.clone(), f64::ln);
        (log(SCX_STEER) - log(other)).exp()
    }

    fn mean(&self, metric: &str, arm: &str, seeds: Range<usize>) -> f64 {
        self.mean_of(metric, arm, seeds, |value| value)
    }

    fn mean_of(&self, metric: &str, arm: &str, seeds: Range<usize>, of: fn(f64) -> f64) -> f64 {
        let count = seeds.len() as f64;
        self.values(metric, arm)
            .get(seeds)
            .map_or(f64::NAN, |values| values.iter().map(|&value| of(value)).sum::<f64>() / count)
    }
}

/// What names the model of a result: the emulator's, the plugin's and the prices' hash.
fn model_of(result: &AbResult) -> Result<String> {
    let other = &result.environment.other;
    let part = |key: &str| {
        let value = other.get(key).with_context(|| format!("the result has no {key}"))?;
        Ok::<_, anyhow::Error>(value.to_string())
    };
    Ok(digest(&[part("model_sha256")?.as_bytes(), part("prices")?.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of two seeds, in which scx_steer has `gain` times what the default has.
    fn figures(gain: [f64; 2], home_share: f64) -> Figures {
        let arm = |gains: [f64; 2], home: f64| {
            let ratios =
                RATIOS.map(|metric| (metric.to_owned(), gains.map(|it| it * 100.0).into()));
            let shares = [("local_share", 1.0), ("home_share", home), ("mixed_share", 0.0)];
            let shares = shares.map(|(metric, share)| (metric.to_owned(), vec![share; 2]));
            ratios.into_iter().chain(shares).collect()
        };
        Figures(
            [("default", arm([1.0; 2], 0.5)), (SCX_STEER, arm(gain, home_share))]
                .map(|(name, metrics)| (name.to_owned(), metrics))
                .into(),
        )
    }

    fn record() -> Record {
        let figures = figures([1.1, 1.1], 1.0);
        Record { model: "m".to_owned(), kernel: "k".to_owned(), figures }
    }

    #[test]
    fn what_is_lost_beyond_two_percent_is_named() {
        let losses = |gain, home| record().losses(&figures(gain, home));
        assert!(losses([1.1, 1.1], 1.0).is_empty());
        assert!(losses([1.2, 1.2], 1.0).is_empty());
        assert!(losses([1.0825, 1.0825], 0.985).is_empty());
        // One seed may be worse if the other makes up for it.
        assert!(losses([1.05, 1.15], 1.0).is_empty());
        let lost = losses([1.07, 1.07], 0.97);
        assert_eq!(lost.len(), 4, "{lost:?}");
        assert!(
            lost[0].contains("throughput_per_core, scx_steer / default: 1.070, on record 1.100")
        );
        assert!(lost[3].contains("home_share: 0.970, on record 1.000"));
    }

    #[test]
    fn what_was_not_measured_is_a_loss() {
        let mut without = figures([1.1, 1.1], 1.0);
        without.0["default"]["rpcs_per_cpu_second"].clear();
        let lost = record().losses(&without);
        assert_eq!(lost.len(), 1, "{lost:?}");
        assert!(lost[0].contains("rpcs_per_cpu_second"));
    }

    #[test]
    fn further_seeds_come_after_the_first() {
        let mut all = figures([1.1, 1.0], 1.0);
        all.append(figures([1.2, 1.3], 1.0));
        assert_eq!(all.seeds(), 4);
        assert_eq!(all.values(RATIOS[0], SCX_STEER), [110.0, 100.0, 120.0, 130.0]);
    }
}
