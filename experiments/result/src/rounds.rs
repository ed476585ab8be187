//! The samples of a run, sorted into modes, arms and rounds.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::sample::Sample;

/// The samples of one steering mode, by arm in display order, then by round.
pub(super) type Rounds<'a> = IndexMap<&'a str, BTreeMap<u32, &'a Sample>>;

/// The samples of one steering mode. Arms without samples are included.
pub(super) fn rounds_of<'a>(mode: &str, arms: &'a [String], samples: &'a [Sample]) -> Rounds<'a> {
    let mut rounds: Rounds = arms.iter().map(|arm| (arm.as_str(), BTreeMap::new())).collect();
    for sample in samples.iter().filter(|sample| sample.mode == mode) {
        rounds.entry(&sample.arm).or_default().insert(sample.round, sample);
    }
    rounds
}

/// The number of rounds that every arm has.
pub(super) fn complete_rounds(rounds: &Rounds) -> usize {
    let all: BTreeSet<u32> = rounds.values().flat_map(BTreeMap::keys).copied().collect();
    all.iter().filter(|round| rounds.values().all(|arm| arm.contains_key(round))).count()
}
