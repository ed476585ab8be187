//! The samples of a run, sorted into worlds, arms and rounds.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::sample::Sample;

/// The samples of one world: by arm in the order to show them, then by round.
pub(super) type Rounds<'a> = IndexMap<&'a str, BTreeMap<u32, &'a Sample>>;

/// The samples of one world. Every arm is in it, also one without samples.
pub(super) fn rounds_of<'a>(world: &str, arms: &'a [String], samples: &'a [Sample]) -> Rounds<'a> {
    let mut rounds: Rounds = arms.iter().map(|arm| (arm.as_str(), BTreeMap::new())).collect();
    for sample in samples.iter().filter(|sample| sample.world == world) {
        rounds.entry(&sample.arm).or_default().insert(sample.round, sample);
    }
    rounds
}

/// Rounds that every arm has.
pub(super) fn complete_rounds(rounds: &Rounds) -> usize {
    let all: BTreeSet<u32> = rounds.values().flat_map(BTreeMap::keys).copied().collect();
    all.iter().filter(|round| rounds.values().all(|arm| arm.contains_key(round))).count()
}
