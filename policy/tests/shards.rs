//! Properties of dividing any machine into shards. PROPTEST_CASES sets the number of cases.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};
use steer_policy::{CpuPlace, Plan};

/// A machine of so many CPUs per core, by cache. Cores are numbered as on most servers: first the
/// first CPUs of all cores, then the second ones.
fn machine(caches: &[Vec<u32>]) -> Plan {
    let cores =
        caches.iter().zip(0..).flat_map(|(sizes, llc)| sizes.iter().map(move |n| (llc, *n)));
    let cores: Vec<(u32, u32)> = cores.collect();
    let most = cores.iter().map(|(_, size)| *size).max().unwrap_or(0);
    let cpus = (0..most).flat_map(|sibling| {
        let has = move |(_, (_, size)): &(u32, &(u32, u32))| *size > sibling;
        (0..).zip(&cores).filter(has).map(|(core, (llc, _))| (core, *llc))
    });
    let place = |(core, llc)| CpuPlace {
        llc,
        shard: llc,
        core,
        node: Some(llc / 2),
        nics_local: Vec::new(),
    };
    let nr_llcs = caches.len() as u32;
    Plan {
        cpus: (0..).zip(cpus.map(place)).collect(),
        nr_llcs,
        nr_shards: nr_llcs,
        nics: Vec::new(),
    }
}

/// Cores of one to four CPUs, under one to four caches.
fn caches() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let alike = (1..=4u32, 1..80usize).prop_map(|(size, cores)| vec![size; cores]);
    vec(prop_oneof![alike, vec(1..=4u32, 1..80)], 1..=4)
}

/// What a shard has.
#[derive(Default)]
struct Shard {
    cpus: u32,
    cores: BTreeSet<u32>,
    caches: BTreeSet<u32>,
}

fn shards(plan: &Plan) -> BTreeMap<u32, Shard> {
    let mut shards: BTreeMap<u32, Shard> = BTreeMap::new();
    for place in plan.cpus.values() {
        let shard = shards.entry(place.shard).or_default();
        shard.cpus += 1;
        shard.cores.insert(place.core);
        shard.caches.insert(place.llc);
    }
    shards
}

proptest! {
    #[test]
    fn shards_are_equal_parts_of_caches(caches in caches(), most in 1..100u32) {
        let whole = machine(&caches);
        let plan = whole.clone().divided(most);
        let shards = shards(&plan);

        // numbers are dense, and caches follow one another
        prop_assert!(shards.keys().copied().eq(0..plan.nr_shards));
        prop_assert!(shards.values().all(|shard| shard.caches.len() == 1));
        let order: Vec<_> = shards.values().flat_map(|shard| &shard.caches).collect();
        prop_assert!(order.is_sorted());

        // cores are whole
        let cores: usize = shards.values().map(|shard| shard.cores.len()).sum();
        prop_assert_eq!(cores, caches.iter().map(Vec::len).sum::<usize>());

        for (llc, sizes) in (0..).zip(&caches) {
            let mine: Vec<_> = shards.values().filter(|it| it.caches.contains(&llc)).collect();
            let cores = mine.iter().map(|shard| shard.cores.len());
            prop_assert!(cores.clone().max().unwrap() - cores.min().unwrap() <= 1);
            for shard in &mine {
                prop_assert!(shard.cpus <= most || shard.cores.len() == 1);
            }
            // a cache is divided only if it must be
            prop_assert_eq!(mine.len() == 1, sizes.len() == 1 || sizes.iter().sum::<u32>() <= most);
        }

        // nothing else changes
        let mut undone = plan;
        undone.cpus.values_mut().for_each(|place| place.shard = place.llc);
        undone.nr_shards = undone.nr_llcs;
        prop_assert_eq!(undone, whole);
    }
}
