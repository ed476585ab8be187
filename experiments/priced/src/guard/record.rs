//! The record of `steer-bench priced guard`, and how figures compare with it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use steer_lab::SCX_STEER;
use steer_lab::built::digest;
use steer_result::metrics::{self, Better};
use steer_result::{AbResult, Environment, Summary, write_whole};
use steer_stats::Ratio;

/// The record, from the root of the repository.
const RECORD: &str = "experiments/priced/guard.json";
/// The arm that shows what moves figures besides the scheduler: threads pinned by hand. From record
/// to record it moved as scx_steer did, within two percent mostly; the default scheduler, whose
/// placement is luck, by up to a tenth.
pub(super) const CONTROL: &str = "pinned";
/// Metrics of which more is better.
const WORTH: [&str; 4] =
    ["throughput_per_core", "rpcs_per_cpu_second", "throughput_per_cpu", "long_bytes_per_s"];
/// The part of it that may be lost.
const LOSS: f64 = 0.02;
/// Shares of placement.
const SHARES: [&str; 3] = ["local_share", "home_share", "mixed_share"];
/// How much worse a share may be.
const SHIFT: f64 = 0.02;

/// What was measured, by arm and metric; a value for each seed.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Figures(IndexMap<String, IndexMap<String, Vec<f64>>>);

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// Hash of the emulator, the model and the prices. With others, figures do not compare.
    model: String,
    /// Release of the guest's kernel. Another one of its series moves the figures of all arms.
    kernel: String,
    /// By the case's name.
    cases: IndexMap<String, Figures>,
}

impl Record {
    /// Adds a case.
    pub(super) fn add(&mut self, case: &str, result: &AbResult) -> Result<()> {
        let environment = &result.environment;
        self.kernel = environment.kernel.clone().context("the result names no kernel")?;
        self.model = model_of(environment)?;
        self.cases.insert(case.to_owned(), Figures::of(result));
        Ok(())
    }

    pub(super) fn read() -> Result<Self> {
        let text = fs::read_to_string(RECORD).with_context(|| format!("reading {RECORD}"))?;
        serde_json::from_str(&text).with_context(|| format!("reading {RECORD}"))
    }

    pub(super) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        write_whole(Path::new(RECORD), &text)?;
        println!("{RECORD} is written");
        Ok(())
    }

    /// Checks that the record is of this model. Says so if the kernel is another one.
    ///
    /// # Errors
    /// When the model is another one.
    pub(super) fn check(&self, environment: &Environment) -> Result<()> {
        ensure!(
            self.model == model_of(environment)?,
            "{RECORD} is of another emulator, model or machine: steer-bench priced guard --record"
        );
        let kernel = environment.kernel.as_deref().unwrap_or_default();
        if kernel != self.kernel {
            println!("The record is of kernel {}, this is {kernel}.", self.kernel);
        }
        Ok(())
    }

    /// Compares the figures of a case with those of the same seeds. If [`CONTROL`] was measured
    /// too, what moved it as well does not count.
    pub(super) fn compare(&self, case: &str, now: &Figures) -> Vec<Compared> {
        let none = Figures::default();
        let recorded = self.cases.get(case).unwrap_or(&none);
        let own = |metric| now.values(metric, SCX_STEER);
        // Nothing if the record lacks some of the seeds.
        let was =
            |metric, arm| recorded.values(metric, arm).get(..own(metric).len()).unwrap_or_default();
        let worth = WORTH.into_iter().map(|metric| {
            let others = recorded.0.keys().filter(|arm| *arm != SCX_STEER);
            let ratios: String = others
                .map(|arm| {
                    let measured = now.values(metric, arm);
                    let other = if measured.is_empty() { was(metric, arm) } else { measured };
                    format!("; x {:.2} of {arm}", mean(own(metric)) / mean(other))
                })
                .collect();
            let own = Moved::new(own(metric), was(metric, SCX_STEER));
            let control = now.values(metric, CONTROL);
            let (moved, of) = if control.is_empty() {
                (own, String::new())
            } else {
                let control = Moved::new(control, was(metric, CONTROL));
                let of = format!(", beside {CONTROL}'s {:.3}", control.mean);
                (own.beside(&control), of)
            };
            let interval = Ratio::paired(&moved.pairs);
            let shown =
                interval.map_or_else(String::new, |it| format!(" [{:.3}, {:.3}]", it.lo, it.hi));
            Compared {
                line: format!(
                    "{metric}: {:.3}{shown} of what is on record{of}{ratios}",
                    moved.mean
                ),
                below: is_below(moved.mean, 1.0 - LOSS),
                chance: interval.is_some_and(|it| it.hi >= 1.0),
            }
        });
        let shares = SHARES.into_iter().map(|metric| {
            let (was, is) = (mean(was(metric, SCX_STEER)), mean(own(metric)));
            Compared {
                line: format!("{metric}: {is:.3}, on record {was:.3}"),
                below: match metrics::find(metric).map(|it| it.better) {
                    Some(Better::Lower) => is_below(-is, -was - SHIFT),
                    _ => is_below(is, was - SHIFT),
                },
                chance: false,
            }
        });
        worth.chain(shares).collect()
    }
}

/// How a scheduler's figure moved.
struct Moved {
    /// Its mean, of that on record.
    mean: f64,
    /// For each seed what it is and what it was.
    pairs: Vec<(Option<f64>, Option<f64>)>,
}

impl Moved {
    fn new(now: &[f64], was: &[f64]) -> Self {
        let pairs = now.iter().zip(was).map(|(&is, &was)| (Some(is), Some(was))).collect();
        Self { mean: mean(now) / mean(was), pairs }
    }

    /// The same beside how the control's moved with the same seeds.
    fn beside(&self, control: &Self) -> Self {
        let per = |own: Option<f64>, control: Option<f64>| Some(own? / control?);
        let pairs = self.pairs.iter().zip(&control.pairs);
        let pairs = pairs.map(|(own, control)| (per(own.0, control.0), per(own.1, control.1)));
        Self { mean: self.mean / control.mean, pairs: pairs.collect() }
    }
}

/// A figure beside the record.
pub(super) struct Compared {
    pub(super) line: String,
    /// It lost more than it may.
    pub(super) below: bool,
    /// It may have lost less: the seeds differ too much.
    chance: bool,
}

impl Compared {
    pub(super) fn worse(&self) -> bool {
        self.below && !self.chance
    }
}

/// What cannot be computed counts as below.
fn is_below(value: f64, least: f64) -> bool {
    value.is_nan() || least.is_nan() || value < least
}

impl Figures {
    /// The figures that are compared. A value that was not measured is left out.
    pub(super) fn of(result: &AbResult) -> Self {
        let metrics = || WORTH.into_iter().chain(SHARES);
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

    /// Adds those of further seeds.
    pub(super) fn add(&mut self, further: Self) {
        for (arm, metrics) in further.0 {
            let arm = self.0.entry(arm).or_default();
            for (metric, values) in metrics {
                arm.entry(metric).or_default().extend(values);
            }
        }
    }

    fn values(&self, metric: &str, arm: &str) -> &[f64] {
        let values = self.0.get(arm).and_then(|metrics| metrics.get(metric));
        values.map_or(&[], Vec::as_slice)
    }
}

/// NaN if there is none.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What names the model of a result: the emulator's, the plugin's and the prices' hash.
fn model_of(environment: &Environment) -> Result<String> {
    let other = &environment.other;
    let part = |key: &str| {
        let value = other.get(key).with_context(|| format!("the result has no {key}"))?;
        Ok::<_, anyhow::Error>(value.to_string())
    };
    Ok(digest(&[part("model_sha256")?.as_bytes(), part("prices")?.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of some seeds, in which scx_steer has so many times what the control has.
    fn figures(gain: &[f64], home_share: f64) -> Figures {
        let arm = |gains: &[f64], home: f64| {
            let worth = WORTH
                .map(|metric| (metric.to_owned(), gains.iter().map(|it| it * 100.0).collect()));
            let shares = [("local_share", 1.0), ("home_share", home), ("mixed_share", 0.0)];
            let shares =
                shares.map(|(metric, share)| (metric.to_owned(), vec![share; gains.len()]));
            worth.into_iter().chain(shares).collect()
        };
        let arms =
            [(CONTROL, arm(&vec![1.0; gain.len()], 0.5)), (SCX_STEER, arm(gain, home_share))];
        Figures(arms.map(|(name, metrics)| (name.to_owned(), metrics)).into())
    }

    /// scx_steer alone, as in a first look.
    fn alone(gain: &[f64], home_share: f64) -> Figures {
        let mut figures = figures(gain, home_share);
        figures.0.shift_remove(CONTROL);
        figures
    }

    /// Both, by other programs that move both by so much.
    fn moved(by: f64, gain: &[f64]) -> Figures {
        let mut figures = figures(gain, 1.0);
        for metrics in figures.0.values_mut() {
            WORTH.iter().for_each(|metric| metrics[*metric].iter_mut().for_each(|it| *it *= by));
        }
        figures
    }

    fn compared(now: &Figures) -> Vec<Compared> {
        let cases = [("case".to_owned(), figures(&[1.1; 4], 1.0))].into();
        Record { cases, ..Record::default() }.compare("case", now)
    }

    fn below(now: &Figures) -> Vec<String> {
        compared(now).into_iter().filter(|it| it.below).map(|it| it.line).collect()
    }

    fn worse(now: &Figures) -> Vec<String> {
        compared(now).into_iter().filter(Compared::worse).map(|it| it.line).collect()
    }

    #[test]
    fn what_is_lost_beyond_two_percent_is_named() {
        assert!(below(&alone(&[1.1; 4], 1.0)).is_empty());
        assert!(below(&alone(&[1.2; 4], 1.0)).is_empty());
        assert!(below(&alone(&[1.0825; 4], 0.985)).is_empty());
        // One seed may be worse if the other makes up for it.
        assert!(below(&alone(&[1.05, 1.15], 1.0)).is_empty());
        let lost = worse(&alone(&[1.07; 4], 0.97));
        assert_eq!(lost.len(), 5, "{lost:?}");
        assert_eq!(
            lost[0],
            "throughput_per_core: 0.973 [0.973, 0.973] of what is on record; x 1.07 of pinned"
        );
        assert_eq!(lost[4], "home_share: 0.970, on record 1.000");
        let mut mixed = alone(&[1.1; 2], 1.0);
        mixed.0[SCX_STEER]["mixed_share"] = vec![0.06, 0.0];
        assert_eq!(worse(&mixed), ["mixed_share: 0.030, on record 0.000"]);
    }

    #[test]
    fn a_loss_that_may_be_chance_asks_for_more_seeds() {
        let mut few = alone(&[1.0, 1.12], 1.0);
        assert!(below(&few).len() == 4 && worse(&few).is_empty());
        few.add(alone(&[1.07, 1.08], 1.0));
        assert_eq!(few.values(WORTH[0], SCX_STEER).len(), 4);
        assert!(below(&few).len() == 4 && worse(&few).is_empty());
    }

    #[test]
    fn what_moves_the_control_too_is_not_lost() {
        assert_eq!(below(&alone(&[1.067; 4], 1.0)).len(), 4);
        assert!(below(&moved(0.97, &[1.1; 4])).is_empty());
        let lost = worse(&moved(0.97, &[1.07; 4]));
        assert_eq!(lost.len(), 4, "{lost:?}");
        assert_eq!(
            lost[0],
            "throughput_per_core: 0.973 [0.973, 0.973] of what is on record, beside pinned's \
             0.970; x 1.07 of pinned"
        );
        assert_eq!(worse(&moved(1.03, &[1.07; 4])).len(), 4, "a gain of the control's hides none");
    }

    #[test]
    fn a_seed_that_the_record_lacks_is_worse() {
        assert_eq!(worse(&alone(&[1.1; 5], 1.0)).len(), 7);
    }

    #[test]
    fn a_case_that_the_record_lacks_is_worse() {
        let compared = Record::default().compare("case", &alone(&[1.1; 4], 1.0));
        assert!(compared.iter().all(Compared::worse));
    }

    #[test]
    fn what_was_not_measured_is_worse() {
        let mut without = figures(&[1.1; 2], 1.0);
        without.0[CONTROL].clear();
        assert!(worse(&without).is_empty(), "the control is not compared");
        without.0[SCX_STEER]["rpcs_per_cpu_second"].clear();
        let lost = worse(&without);
        assert!(lost.len() == 1 && lost[0].contains("rpcs_per_cpu_second"), "{lost:?}");
    }
}
