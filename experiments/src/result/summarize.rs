//! From samples to medians, ratios and doubts.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::{IndexMap, IndexSet};

use super::cpu;
use super::metrics::{METRICS, Metric, unreadable};
use super::types::{AbResult, Header, Sample, Summary, World};
use crate::stats::{Ratio, median};

/// Pairs below which an interval says too little.
const ENOUGH_PAIRS: usize = 5;

/// The samples of one world: by arm in the order to show them, then by round.
type Rounds<'a> = IndexMap<&'a str, BTreeMap<u32, &'a Sample>>;

/// Works out all figures of a run. Rounds that lack an arm count for the arms they have, and for
/// the ratios of pairs they hold both arms of; so a run that was cut short still gives a result.
pub(crate) fn summarize(header: Header, samples: Vec<Sample>) -> AbResult {
    let mut warnings = header.warnings;
    warnings.extend(samples.iter().filter_map(doubt));
    warnings.extend(cpu::doubts(&samples));
    // Results from before a part was recorded keep the figures they had.
    let recorded = |metric: &&Metric| samples.iter().any(|sample| metric.is_recorded(sample));
    let metrics: Vec<&Metric> = METRICS.iter().filter(recorded).collect();
    let mut worlds = IndexMap::new();
    let mut fewest = None;
    let names: IndexSet<&str> = samples.iter().map(|sample| sample.world.as_str()).collect();
    for name in names {
        let rounds = rounds_of(name, &header.arms, &samples);
        let complete = complete_rounds(&rounds);
        fewest = Some(fewest.map_or(complete, |fewest: usize| fewest.min(complete)));
        warnings.extend(doubts(name, &rounds, complete, &metrics));
        let pairs = pairs_of(&header.subject, header.equal.as_deref(), &rounds);
        worlds.insert(name.to_string(), world(&pairs, &rounds, &metrics));
    }
    AbResult {
        version: AbResult::VERSION,
        subject: header.subject,
        equal: header.equal,
        pairs: fewest.unwrap_or(0),
        command: header.command,
        seed: header.seed,
        environment: header.environment,
        topology: header.topology,
        workload: header.workload,
        worlds,
        warnings,
        raw: samples,
    }
}

fn rounds_of<'a>(world: &str, arms: &'a [String], samples: &'a [Sample]) -> Rounds<'a> {
    let mut rounds: Rounds = arms.iter().map(|arm| (arm.as_str(), BTreeMap::new())).collect();
    for sample in samples.iter().filter(|sample| sample.world == world) {
        rounds.entry(&sample.arm).or_default().insert(sample.round, sample);
    }
    rounds
}

/// Rounds that every arm has.
fn complete_rounds(rounds: &Rounds) -> usize {
    let all: BTreeSet<u32> = rounds.values().flat_map(BTreeMap::keys).copied().collect();
    all.iter().filter(|round| rounds.values().all(|arm| arm.contains_key(round))).count()
}

/// The pairs of arms to compare: the subject with each other arm, and those that are equal.
fn pairs_of<'a>(
    subject: &'a str,
    equal: Option<&'a str>,
    rounds: &Rounds<'a>,
) -> Vec<(&'a str, &'a str)> {
    let equal = equal.and_then(|pair| pair.split_once('/'));
    let again = equal.map(|(again, _)| again);
    let others = rounds.keys().filter(|arm| **arm != subject && Some(**arm) != again);
    others.map(|other| (subject, *other)).chain(equal).collect()
}

fn world(pairs: &[(&str, &str)], rounds: &Rounds, metrics: &[&Metric]) -> World {
    let arms = rounds.iter().map(|(arm, samples)| {
        let summaries = metrics.iter().map(|metric| {
            (metric.name.to_string(), summary(samples.values().map(|s| metric.value(s)).collect()))
        });
        (arm.to_string(), summaries.collect())
    });
    let ratios = metrics.iter().map(|metric| {
        let ratios = pairs.iter().map(|(subject, reference)| {
            let ratio = Ratio::paired(&values(metric, rounds, subject, reference));
            (format!("{subject}/{reference}"), ratio)
        });
        (metric.name.to_string(), ratios.collect())
    });
    World { arms: arms.collect(), ratios: ratios.collect() }
}

fn summary(samples: Vec<Option<f64>>) -> Summary {
    // A median of only those samples in which something could be measured would be biased.
    let known: Option<Vec<f64>> = samples.iter().copied().collect();
    Summary { median: known.and_then(|known| median(&known)), samples }
}

/// The metric's values in the rounds that hold both arms.
fn values(
    metric: &Metric,
    rounds: &Rounds,
    subject: &str,
    reference: &str,
) -> Vec<(Option<f64>, Option<f64>)> {
    let (Some(subjects), Some(references)) = (rounds.get(subject), rounds.get(reference)) else {
        return Vec::new();
    };
    let both = subjects.iter().filter_map(|(round, s)| Some((*s, *references.get(round)?)));
    both.map(|(subject, reference)| (metric.value(subject), metric.value(reference))).collect()
}

/// What makes one sample doubtful.
fn doubt(sample: &Sample) -> Option<String> {
    let place = format!("{}, {}, round {}", sample.world, sample.arm, sample.round);
    if let Some(why) = unreadable(sample) {
        return Some(format!("{place}: {why}; use programs of the same release"));
    }
    let errors = sample.client.get("errors")?.as_array()?;
    let first = errors.first()?.as_str()?;
    Some(format!("{place}: the client failed, its figures are partial: {first}"))
}

/// What makes a world's figures doubtful.
fn doubts(world: &str, rounds: &Rounds, complete: usize, metrics: &[&Metric]) -> Vec<String> {
    let mut doubts = Vec::new();
    if complete < ENOUGH_PAIRS {
        doubts.push(format!(
            "{world}: {complete} complete rounds say little; run at least {ENOUGH_PAIRS} pairs"
        ));
    }
    let told = |metric: &&&Metric| {
        rounds.values().flat_map(BTreeMap::values).any(|sample| metric.value(sample).is_some())
    };
    let (told, untold): (Vec<&&Metric>, Vec<_>) = metrics.iter().partition(told);
    if !untold.is_empty() {
        let untold: Vec<_> = untold.iter().map(|metric| metric.name).collect();
        doubts.push(format!("{world}: no sample tells {}", untold.join(", ")));
    }
    for (arm, samples) in rounds {
        for metric in &told {
            let unknown = samples.values().filter(|s| metric.value(s).is_none()).count();
            if unknown > 0 {
                let (metric, all) = (metric.name, samples.len());
                doubts.push(format!(
                    "{world}, {arm}: {metric} is unknown in {unknown} of {all} samples, so it has \
                     no median and no ratio"
                ));
            }
        }
    }
    doubts
}
