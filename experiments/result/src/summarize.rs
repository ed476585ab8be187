//! From samples to medians, ratios and warnings.

use indexmap::{IndexMap, IndexSet};

use super::metrics::{METRICS, Metric};
use super::mode::{Mode, Summary};
use super::rounds::{Rounds, complete_rounds, rounds_of};
use super::sample::Sample;
use super::types::{AbResult, Header};
use super::warnings;
use steer_stats::{Ratio, median};

/// Computes all figures of a run. A round that lacks an arm counts for the arms it has, and for the
/// ratios of two of these. So a run that was cut short still gives a result.
pub fn summarize(header: Header, samples: Vec<Sample>) -> AbResult {
    let mut said = header.warnings;
    said.extend(samples.iter().filter_map(warnings::of_sample));
    said.extend(warnings::of_cpu_records(&samples));
    // Older results lack some parts. They keep the metrics that they had.
    let recorded = |metric: &&Metric| samples.iter().any(|sample| metric.is_recorded(sample));
    let metrics: Vec<&Metric> = METRICS.iter().filter(recorded).collect();
    let mut modes = IndexMap::new();
    let mut fewest = None;
    let names: IndexSet<&str> = samples.iter().map(|sample| sample.mode.as_str()).collect();
    for name in names {
        let rounds = rounds_of(name, &header.arms, &samples);
        let complete = complete_rounds(&rounds);
        fewest = Some(fewest.map_or(complete, |fewest: usize| fewest.min(complete)));
        said.extend(warnings::of_mode(name, &rounds, complete, &metrics));
        let pairs = pairs_of(&header.main_arm, header.equal.as_deref(), &rounds);
        modes.insert(name.to_string(), mode(&pairs, &rounds, &metrics));
    }
    AbResult {
        version: AbResult::VERSION,
        main_arm: header.main_arm,
        equal: header.equal,
        pairs: fewest.unwrap_or(0),
        command: header.command,
        options: header.options,
        seed: header.seed,
        environment: header.environment,
        topology: header.topology,
        workload: header.workload,
        modes,
        unfinished: header.unfinished,
        warnings: said,
        raw: samples,
    }
}

/// The pairs of arms to compare: the main arm with each other arm, then the two equal arms.
fn pairs_of<'a>(
    main_arm: &'a str,
    equal: Option<&'a str>,
    rounds: &Rounds<'a>,
) -> Vec<(&'a str, &'a str)> {
    let equal = equal.and_then(|pair| pair.split_once('/'));
    let again = equal.map(|(again, _)| again);
    let others = rounds.keys().filter(|arm| **arm != main_arm && Some(**arm) != again);
    others.map(|other| (main_arm, *other)).chain(equal).collect()
}

fn mode(pairs: &[(&str, &str)], rounds: &Rounds, metrics: &[&Metric]) -> Mode {
    let arms = rounds.iter().map(|(arm, samples)| {
        let summaries = metrics.iter().map(|metric| {
            (metric.name.to_string(), summary(samples.values().map(|s| metric.value(s)).collect()))
        });
        (arm.to_string(), summaries.collect())
    });
    let ratios = metrics.iter().map(|metric| {
        let ratios = pairs.iter().map(|(arm, reference)| {
            let ratio = Ratio::paired(&values(metric, rounds, arm, reference));
            (format!("{arm}/{reference}"), ratio)
        });
        (metric.name.to_string(), ratios.collect())
    });
    Mode { arms: arms.collect(), ratios: ratios.collect() }
}

fn summary(samples: Vec<Option<f64>>) -> Summary {
    // A median of the known samples alone would be biased.
    let known: Option<Vec<f64>> = samples.iter().copied().collect();
    Summary { median: known.and_then(|known| median(&known)), samples }
}

/// The metric's values in the rounds that have both arms.
fn values(
    metric: &Metric,
    rounds: &Rounds,
    arm: &str,
    reference: &str,
) -> Vec<(Option<f64>, Option<f64>)> {
    let (Some(arms), Some(references)) = (rounds.get(arm), rounds.get(reference)) else {
        return Vec::new();
    };
    let both = arms.iter().filter_map(|(round, s)| Some((*s, *references.get(round)?)));
    both.map(|(arm, reference)| (metric.value(arm), metric.value(reference))).collect()
}
