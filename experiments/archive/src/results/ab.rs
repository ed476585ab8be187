//! Figures of A/B results.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use steer_result::{AbResult, Mode, stage_figures};

use super::row::{Outcome, Row};
use super::words;

/// Which figures of a result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AbFigures {
    #[serde(default = "result")]
    pub(super) file: String,
    /// Tells this result from the question's other results.
    #[serde(default)]
    case: String,
    /// Steering modes; all if absent.
    #[serde(default)]
    steering: Option<Vec<String>>,
    /// Metrics, by name.
    #[serde(default)]
    metrics: Vec<String>,
    /// The arms whose medians are shown; all if absent.
    #[serde(default)]
    arms: Option<Vec<String>>,
    /// The arms that the main arm is compared with; all others if absent.
    #[serde(default)]
    against: Option<Vec<String>>,
    /// Whether to show what was done in each stage of a load that shifts.
    #[serde(default)]
    stages: bool,
}

fn result() -> String {
    "result.json".to_owned()
}

impl AbFigures {
    /// Adds the figures, and returns the number of rounds.
    ///
    /// # Errors
    /// The result cannot be read, or lacks a mode, an arm or a metric that is asked for.
    pub(super) fn add_to(&self, rows: &mut Vec<Row>, folder: &Path) -> Result<usize> {
        let path = folder.join(&self.file);
        let result = AbResult::read(&path)?;
        let all = || result.modes.keys().cloned().collect();
        for steering in self.steering.clone().unwrap_or_else(all) {
            let mode = result.modes.get(&steering);
            let mode = mode.with_context(|| format!("{} has no {steering}", path.display()))?;
            self.of_mode(rows, &result, &steering, mode)
                .with_context(|| format!("{}, {steering}", path.display()))?;
        }
        Ok(result.pairs)
    }

    fn of_mode(
        &self,
        rows: &mut Vec<Row>,
        result: &AbResult,
        steering: &str,
        mode: &Mode,
    ) -> Result<()> {
        let arms = self.arms.clone().unwrap_or_else(|| mode.arms.keys().cloned().collect());
        let others = || result.others().into_iter().map(str::to_owned).collect();
        let against = self.against.clone().unwrap_or_else(others);
        let row = |figure: String| Row {
            case: self.case.clone(),
            steering: steering.to_owned(),
            figure,
            ..Row::default()
        };
        if self.stages {
            for stage in stage_figures(result, steering) {
                let shown = |value: Option<f64>| {
                    value.map_or("–".to_owned(), |value| words::number(value, 1))
                };
                let values = mode.arms.keys().cloned().zip(stage.medians.into_iter().map(shown));
                let values = values.filter(|(arm, _)| arms.contains(arm)).collect();
                rows.push(Row { case: stage.stage, values, ..row(stage.about.to_owned()) });
            }
        }
        for name in &self.metrics {
            let metric =
                words::find(name).with_context(|| format!("no metric is called {name}"))?;
            let value = |arm: &String| -> Result<(String, String)> {
                let summary = mode.arms.get(arm).and_then(|metrics| metrics.get(metric.name));
                let summary = summary.with_context(|| format!("arm {arm} has no {name}"))?;
                let shown = summary.median.map(|median| words::value(metric, median));
                Ok((arm.clone(), shown.unwrap_or_else(|| "–".to_owned())))
            };
            let outcome = |other: &String| -> Result<Option<(String, Outcome)>> {
                mode.arms.get(other).with_context(|| format!("there is no arm {other}"))?;
                let main = &result.main_arm;
                let ratio = mode.ratio(metric.name, &format!("{main}/{other}"));
                let outcome = ratio.map(|ratio| Outcome::of(ratio, metric.better));
                Ok(outcome.map(|outcome| (format!("{main} / {other}"), outcome)))
            };
            let ratios: Result<Vec<_>> = against.iter().map(outcome).collect();
            rows.push(Row {
                values: arms.iter().map(value).collect::<Result<_>>()?,
                ratios: ratios?.into_iter().flatten().collect(),
                ..row(words::name(metric))
            });
        }
        Ok(())
    }
}
