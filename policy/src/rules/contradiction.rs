//! Settings that contradict each other, in one rule or in several rules that meet in a cgroup.

use super::{
    refusal::Refusal,
    sets::Sets,
    values::{Bytes, Pool},
};
use crate::{Settings, SettingsError};

/// Settings that contradict each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contradiction {
    /// Their keys. The first one is to blame.
    pub(crate) keys: &'static [&'static str],
    /// Why they contradict each other.
    pub(crate) refusal: Refusal,
}

impl Contradiction {
    /// All contradictions in `sets`. `base` provides what `sets` leaves open.
    pub(crate) fn all(sets: &Sets, base: &Settings) -> impl Iterator<Item = Self> + use<> {
        [bursts(sets, base), exclusive(sets), reserve(sets)].into_iter().flatten()
    }
}

/// The bounds of short and long bursts cross.
fn bursts(sets: &Sets, base: &Settings) -> Option<Contradiction> {
    sets.errors(base).into_iter().find_map(|error| match error {
        SettingsError::Crossed { short, long } => Some(Contradiction {
            keys: &["short-burst", "long-burst"],
            refusal: Refusal::new(
                format!("short-burst {} is not below long-burst {}", Bytes(short), Bytes(long)),
                "a short burst below the long one",
            ),
        }),
        SettingsError::OutOfRange { .. } => None,
    })
}

/// `exclusive` is set, but the number of cores is unknown.
fn exclusive(sets: &Sets) -> Option<Contradiction> {
    let countless = listed(sets).is_none() && reserved(sets) == 0;
    (sets.exclusive == Some(true) && countless).then(|| Contradiction {
        keys: &["exclusive", "pool", "reserve"],
        refusal: Refusal::new(
            "exclusive = true, but neither CPUs nor a number of cores are given",
            "exclusive = true together with a reserve, or with a pool that lists CPUs",
        ),
    })
}

/// `reserve` asks for more cores than `pool` has CPUs.
fn reserve(sets: &Sets) -> Option<Contradiction> {
    let listed = listed(sets)?;
    (reserved(sets) > listed).then(|| Contradiction {
        keys: &["reserve", "pool"],
        refusal: Refusal::new(
            format!("{} cores from a pool of {listed} CPUs", reserved(sets)),
            format!("0 to {listed} with this pool"),
        ),
    })
}

fn listed(sets: &Sets) -> Option<usize> {
    match &sets.pool {
        Some(Pool::Cpus(cpus)) => Some(cpus.len()),
        _ => None,
    }
}

fn reserved(sets: &Sets) -> usize {
    sets.reserve.map_or(0, |cores| cores.count() as usize)
}
