//! Divides large caches into shards: the CPUs that share one queue of waiting threads.
//!
//! One queue has one lock. Where more than a hundred CPUs are under one last-level cache, they would
//! all take it. Work moves between shards as it does between caches.

use std::{collections::BTreeMap, ops::Range};

use crate::Plan;

impl Plan {
    /// The same plan, where at most `most` CPUs share a queue, and only CPUs under one cache.
    ///
    /// The shards of a cache are as equal as whole cores allow. A core with more than `most` CPUs
    /// is a shard. Neighbouring cores stay together, node by node, so neighbouring numbers are
    /// near each other.
    #[must_use]
    pub fn divided(mut self, most: u32) -> Self {
        // the CPUs of each core, by cache; cores in the order in which they are divided
        let mut caches: BTreeMap<u32, BTreeMap<_, Vec<u32>>> = BTreeMap::new();
        for (cpu, place) in &self.cpus {
            let cores = caches.entry(place.llc).or_default();
            cores.entry((place.node, place.core)).or_default().push(*cpu);
        }
        let mut next = 0;
        for cores in caches.values() {
            let cores: Vec<_> = cores.values().collect();
            for shard in ranges(cores.len(), shards_of(&cores, most)) {
                for cpu in cores[shard].iter().copied().flatten() {
                    self.cpus.entry(*cpu).and_modify(|place| place.shard = next);
                }
                next += 1;
            }
        }
        self.nr_shards = next.max(1);
        self
    }
}

/// How many shards a cache with these cores needs.
fn shards_of(cores: &[&Vec<u32>], most: u32) -> usize {
    let size = |shard: Range<usize>| cores[shard].iter().map(|cpus| cpus.len()).sum::<usize>();
    let fits = |shards: &usize| ranges(cores.len(), *shards).all(|it| size(it) <= most as usize);
    (1..cores.len()).find(fits).unwrap_or(cores.len())
}

/// `0..count` in so many parts, which differ by one at most.
fn ranges(count: usize, parts: usize) -> impl Iterator<Item = Range<usize>> {
    (0..parts).map(move |part| part * count / parts..(part + 1) * count / parts)
}

#[cfg(test)]
mod tests {
    use steer_topology::CpuSet;

    use super::*;
    use crate::CpuPlace;

    /// Places by CPU number: cache, node, core.
    fn plan(places: impl Iterator<Item = (u32, u32, u32)>) -> Plan {
        let place = |(llc, node, core)| CpuPlace {
            llc,
            shard: llc,
            core,
            node: Some(node),
            nics_local: Vec::new(),
        };
        let cpus: BTreeMap<_, _> = (0..).zip(places.map(place)).collect();
        let nr_llcs = cpus.values().map(|place| place.llc + 1).max().unwrap_or(1);
        Plan { cpus, nr_llcs, nr_shards: nr_llcs, nics: Vec::new() }
    }

    /// The shards, as CPU lists.
    fn shards(plan: &Plan) -> Vec<String> {
        let of = |shard| plan.cpus.iter().filter(move |(_, place)| place.shard == shard);
        let list = |shard| of(shard).map(|(cpu, _)| *cpu).collect::<CpuSet>().to_string();
        (0..plan.nr_shards).map(list).collect()
    }

    #[test]
    fn siblings_stay_together() {
        // 60 cores; CPU n + 60 is the sibling of CPU n
        let plan = plan((0..120).map(|cpu| (0, 0, cpu % 60))).divided(32);
        let expected = ["0-14,60-74", "15-29,75-89", "30-44,90-104", "45-59,105-119"];
        assert_eq!(shards(&plan), expected);
    }

    #[test]
    fn a_cache_of_as_many_cpus_as_may_share_a_queue_stays_whole() {
        let whole = plan((0..64).map(|cpu| (cpu / 32, 0, cpu / 2 * 2)));
        assert_eq!(whole.clone().divided(32), whole);
        assert_eq!(shards(&whole.divided(31)), ["0-15", "16-31", "32-47", "48-63"]);
    }

    #[test]
    fn caches_are_numbered_one_after_the_other() {
        // the first cache has 4 CPUs and the second 5
        let plan = plan((0..9).map(|cpu| (u32::from(cpu > 3), 0, cpu))).divided(2);
        assert_eq!(shards(&plan), ["0-1", "2-3", "4", "5-6", "7-8"]);
    }

    #[test]
    fn a_cache_over_two_nodes_is_divided_between_them() {
        // sub-NUMA clustering, where nodes take turns
        let plan = plan((0..8).map(|cpu| (0, cpu % 2, cpu))).divided(4);
        assert_eq!(shards(&plan), ["0,2,4,6", "1,3,5,7"]);
    }

    #[test]
    fn a_core_with_too_many_cpus_is_a_shard() {
        let plan = plan((0..16).map(|cpu| (0, 0, cpu / 8 * 8))).divided(2);
        assert_eq!(shards(&plan), ["0-7", "8-15"]);
    }

    #[test]
    fn an_empty_plan_has_a_shard() {
        assert_eq!(plan([].into_iter()).divided(1).nr_shards, 1);
    }
}
