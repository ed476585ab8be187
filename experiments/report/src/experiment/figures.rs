//! An experiment's figures as a table.

use super::Experiment;
use super::lines::lines;
use steer_ground::style::UNKNOWN;
use steer_result::metrics::{Metric, Verdict};
use steer_stats::Median;

/// A steering mode's figures: metric, unit, point; each arm's median with its interval; each pair's
/// ratio.
pub(super) struct Figures {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The figures of a steering mode.
pub(super) fn table(experiment: &Experiment, mode: &str) -> Figures {
    let points = experiment.mode(mode);
    let mut pairs: Vec<&String> = Vec::new();
    for pair in points.iter().flat_map(|(_, mode)| mode.pairs()) {
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let mut table = Figures { head: Vec::new(), rows: Vec::new() };
    for metric in experiment.metrics(mode) {
        let lines = lines(&points, metric);
        let arms = lines.iter().map(|line| line.arm);
        let head = ["metric", "unit", &experiment.axis.name].into_iter().chain(arms);
        table.head = head.chain(pairs.iter().map(|pair| pair.as_str())).map(String::from).collect();
        for (label, mode) in &points {
            let medians = lines.iter().map(|line| {
                let value = line.values.iter().find(|value| value.label == *label);
                value.map_or(UNKNOWN.into(), |value| shown(metric, value.median))
            });
            let ratios = pairs.iter().map(|pair| {
                let ratio = mode.ratio(metric.name, pair);
                let mark = |ratio| metric.verdict(ratio).map_or(' ', Verdict::sign);
                ratio.map_or(UNKNOWN.into(), |ratio| format!("{ratio}{}", mark(ratio)))
            });
            let first = [metric.name, metric.unit, label].map(String::from);
            table.rows.push(first.into_iter().chain(medians).chain(ratios).collect());
        }
    }
    table
}

fn shown(metric: &Metric, Median { median, lo, hi }: Median) -> String {
    format!("{} [{}, {}]", metric.show(median), metric.show(lo), metric.show(hi))
}
