//! Warnings that the samples of a run give cause for.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::cpu::CpuRecord;
use super::metrics::{Metric, unreadable};
use super::older_warnings;
use super::rounds::Rounds;
use super::sample::Sample;
use steer_ground::warning::{Kind, Place, Warning};

/// With fewer complete rounds, intervals are too wide to be useful.
const ENOUGH_PAIRS: usize = 5;

/// The warning about one sample, if there is one.
pub(super) fn of_sample(sample: &Sample) -> Option<Warning> {
    let place = Place::sample(&sample.mode, &sample.arm, sample.round);
    if let Some(why) = unreadable(sample) {
        let text = format!("{why}; use programs of the same release");
        return Some(Warning::new(Kind::UnknownFormat, text).at(&place));
    }
    let first = sample.client.errors.first()?;
    let text = format!("the client failed, its figures are partial: {first}");
    Some(Warning::new(Kind::ClientFailed, text).at(&place))
}

/// The warnings about a steering mode.
pub(super) fn of_mode(
    mode: &str,
    rounds: &Rounds,
    complete: usize,
    metrics: &[&Metric],
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, place: &Place, text| warnings.push(Warning::new(kind, text).at(place));
    let here = Place::mode(mode);
    if complete < ENOUGH_PAIRS {
        let text =
            format!("{complete} complete rounds say little; run at least {ENOUGH_PAIRS} pairs");
        warn(Kind::FewRounds, &here, text);
    }
    let told = |metric: &&&Metric| {
        rounds.values().flat_map(BTreeMap::values).any(|sample| metric.value(sample).is_some())
    };
    let (told, untold): (Vec<&&Metric>, Vec<_>) = metrics.iter().partition(told);
    if !untold.is_empty() {
        let untold: Vec<_> = untold.iter().map(|metric| metric.name).collect();
        warn(Kind::NeverMeasured, &here, format!("no sample tells {}", untold.join(", ")));
    }
    for (arm, samples) in rounds {
        for metric in &told {
            let unknown = samples.values().filter(|s| metric.value(s).is_none()).count();
            if unknown > 0 {
                let (metric, all) = (metric.name, samples.len());
                let text = format!(
                    "{metric} is unknown in {unknown} of {all} samples, so it has no median and no \
                     ratio"
                );
                warn(Kind::PartlyMeasured, &Place::arm(mode, arm), text);
            }
        }
    }
    warnings
}

/// The warnings of the samples' CPU figures, each kind once, because most apply to every sample.
pub(super) fn of_cpu_records(samples: &[Sample]) -> Vec<Warning> {
    let records: Vec<&CpuRecord> = samples.iter().filter_map(|s| s.cpu.as_ref()).collect();
    let mut kinds: IndexMap<(Kind, String), (&str, usize)> = IndexMap::new();
    for warning in records.iter().flat_map(|record| &record.warnings) {
        let kind = (warning.kind, older_warnings::words(warning));
        kinds.entry(kind).or_insert((&warning.text, 0)).1 += 1;
    }
    let all = records.len();
    let summary = |((kind, _), (text, count))| {
        Warning::new(kind, format!("CPU figures of {count} of {all} samples: {text}"))
    };
    kinds.into_iter().map(summary).collect()
}
