//! What makes the figures of a run doubtful.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::cpu::CpuRecord;
use super::metrics::{Metric, unreadable};
use super::rounds::Rounds;
use super::sample::Sample;

/// Pairs below which an interval says too little.
const ENOUGH_PAIRS: usize = 5;

/// What makes one sample doubtful.
pub(super) fn of_sample(sample: &Sample) -> Option<String> {
    let place = format!("{}, {}, round {}", sample.world, sample.arm, sample.round);
    if let Some(why) = unreadable(sample) {
        return Some(format!("{place}: {why}; use programs of the same release"));
    }
    let errors = sample.client.get("errors")?.as_array()?;
    let first = errors.first()?.as_str()?;
    Some(format!("{place}: the client failed, its figures are partial: {first}"))
}

/// What makes a world's figures doubtful.
pub(super) fn of_world(
    world: &str,
    rounds: &Rounds,
    complete: usize,
    metrics: &[&Metric],
) -> Vec<String> {
    let mut warnings = Vec::new();
    if complete < ENOUGH_PAIRS {
        warnings.push(format!(
            "{world}: {complete} complete rounds say little; run at least {ENOUGH_PAIRS} pairs"
        ));
    }
    let told = |metric: &&&Metric| {
        rounds.values().flat_map(BTreeMap::values).any(|sample| metric.value(sample).is_some())
    };
    let (told, untold): (Vec<&&Metric>, Vec<_>) = metrics.iter().partition(told);
    if !untold.is_empty() {
        let untold: Vec<_> = untold.iter().map(|metric| metric.name).collect();
        warnings.push(format!("{world}: no sample tells {}", untold.join(", ")));
    }
    for (arm, samples) in rounds {
        for metric in &told {
            let unknown = samples.values().filter(|s| metric.value(s).is_none()).count();
            if unknown > 0 {
                let (metric, all) = (metric.name, samples.len());
                warnings.push(format!(
                    "{world}, {arm}: {metric} is unknown in {unknown} of {all} samples, so it has \
                     no median and no ratio"
                ));
            }
        }
    }
    warnings
}

/// The records' warnings, each once. Such as differ in their figures only are one: a machine that
/// gives cause for them gives it in every sample.
pub(super) fn of_cpu_records(samples: &[Sample]) -> Vec<String> {
    let records: Vec<&CpuRecord> = samples.iter().filter_map(|s| s.cpu.as_ref()).collect();
    let mut warnings: IndexMap<String, (&str, usize)> = IndexMap::new();
    for warning in records.iter().flat_map(|record| &record.warnings) {
        let kind = warning.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        warnings.entry(kind).or_insert((warning, 0)).1 += 1;
    }
    let all = records.len();
    let said = |(warning, count)| format!("CPU figures of {count} of {all} samples: {warning}");
    warnings.into_values().map(said).collect()
}
