//! Extracts from a machine what the scheduler must know about each CPU.

use std::collections::BTreeMap;

use serde::Serialize;
use steer_topology::{CpuSet, Machine};

/// The caches, cores and NICs of each CPU, in the numbers that the kernel side uses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The CPUs, by number.
    pub cpus: BTreeMap<u32, CpuPlace>,
    /// Number of last-level caches. They are numbered from 0 in the machine's order, so that
    /// neighbouring numbers are near each other.
    pub nr_llcs: u32,
    /// Number of shards. They are numbered from 0 in the order of their caches.
    pub nr_shards: u32,
    /// The NICs with a known place. A NIC's index here is its bit in `CpuPlace::nics_local`.
    pub nics: Vec<PlannedNic>,
}

/// One CPU of a [`Plan`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuPlace {
    /// Index of the last-level cache.
    pub llc: u32,
    /// Index of the shard: the CPUs that share a queue.
    pub shard: u32,
    /// Lowest CPU number of the core.
    pub core: u32,
    /// NUMA node; `None` if unknown. All CPUs with an unknown node count as one node.
    pub node: Option<u32>,
    /// The NICs that this CPU is local to, as indices into [`Plan::nics`].
    pub nics_local: Vec<u32>,
}

/// One NIC of a [`Plan`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedNic {
    /// Interface name.
    pub name: String,
    /// Interface index. Packets carry it.
    pub ifindex: u32,
    /// NUMA node, `None` if unknown.
    pub node: Option<u32>,
    /// The NIC-local CPUs.
    pub local_cpus: CpuSet,
}

impl Plan {
    /// The plan of a live machine. Each cache is one shard: [`Plan::divided`] makes more of it.
    ///
    /// Leaves out a NIC with an unknown place: no CPU is nearer to it than another. Also leaves
    /// out a NIC without an interface index (read from a file): no packet can name it. CPUs
    /// without a known last-level cache share one per node.
    pub fn new(machine: &Machine) -> Self {
        let nics: Vec<_> = machine
            .nics
            .iter()
            .filter_map(|nic| {
                Some(PlannedNic {
                    name: nic.name.clone(),
                    ifindex: nic.ifindex?,
                    node: nic.node,
                    local_cpus: nic.local_cpus.clone()?,
                })
            })
            .collect();

        let mut llc_numbers = BTreeMap::new();
        let mut first_of_core = BTreeMap::new();
        for cpu in &machine.cpus {
            let next = llc_numbers.len() as u32;
            llc_numbers.entry((cpu.llc, cpu.llc.is_none().then_some(cpu.node))).or_insert(next);
            let first = first_of_core.entry(cpu.core).or_insert(cpu.id);
            *first = cpu.id.min(*first);
        }
        let cpus = machine
            .cpus
            .iter()
            .map(|cpu| {
                let llc = llc_numbers[&(cpu.llc, cpu.llc.is_none().then_some(cpu.node))];
                let place = CpuPlace {
                    llc,
                    shard: llc,
                    core: first_of_core[&cpu.core],
                    node: cpu.node,
                    nics_local: (0u32..)
                        .zip(&nics)
                        .filter(|(_, nic)| nic.local_cpus.contains(cpu.id))
                        .map(|(index, _)| index)
                        .collect(),
                };
                (cpu.id, place)
            })
            .collect();
        let nr_llcs = llc_numbers.len().max(1) as u32;
        Self { cpus, nr_llcs, nr_shards: nr_llcs, nics }
    }
}

#[cfg(test)]
mod tests {
    use steer_topology::{Core, Cpu, Llc, Nic, Source};

    use super::*;

    fn cpus(list: &str) -> CpuSet {
        list.parse().unwrap()
    }

    /// Two nodes with CPUs 0-3 and 4-7. Each has one cache and two cores of two SMT siblings.
    fn machine(nics: Vec<Nic>) -> Machine {
        let cpu = |id: u32| Cpu {
            id,
            core: id as usize / 2,
            llc: Some(id as usize / 4),
            node: Some(id / 4),
            package: None,
        };
        let llc = |list| Llc { level: 3, size_bytes: None, cpus: cpus(list), nodes: [].into() };
        Machine {
            source: Source::Live,
            packages: Vec::new(),
            nodes: Vec::new(),
            llcs: vec![llc("0-3"), llc("4-7")],
            cores: (0..4)
                .map(|core| Core { id: None, cpus: [2 * core, 2 * core + 1].into_iter().collect() })
                .collect(),
            cpus: (0..8).map(cpu).collect(),
            offline: CpuSet::default(),
            nics,
        }
    }

    fn nic(name: &str, ifindex: Option<u32>, local_cpus: Option<&str>) -> Nic {
        Nic {
            name: name.into(),
            ifindex,
            mac: None,
            pci: None,
            driver: None,
            node: None,
            local_cpus: local_cpus.map(cpus),
            speed_mbps: None,
            operstate: None,
            queues: None,
            irqs: Vec::new(),
        }
    }

    #[test]
    fn cpus_know_their_cache_core_and_near_nics() {
        let near = nic("eth0", Some(2), Some("4-7"));
        let plan = Plan::new(&machine(vec![near, nic("eth1", Some(3), Some("0-7"))]));
        assert_eq!(plan.nr_llcs, 2);
        assert_eq!(
            plan.cpus[&1],
            CpuPlace { llc: 0, shard: 0, core: 0, node: Some(0), nics_local: vec![1] }
        );
        assert_eq!(
            plan.cpus[&7],
            CpuPlace { llc: 1, shard: 1, core: 6, node: Some(1), nics_local: vec![0, 1] }
        );
    }

    #[test]
    fn a_nic_whose_place_or_index_is_unknown_attracts_no_thread() {
        let unknown = nic("eth0", Some(2), None);
        let from_file = nic("eth1", None, Some("0-3"));
        let plan = Plan::new(&machine(vec![unknown, from_file]));
        assert_eq!(plan.nics, []);
        assert!(plan.cpus.values().all(|place| place.nics_local.is_empty()));
    }

    #[test]
    fn cpus_without_a_known_cache_share_one_per_node() {
        let mut machine = machine(Vec::new());
        machine.llcs.clear();
        machine.cpus.iter_mut().for_each(|cpu| cpu.llc = None);
        let plan = Plan::new(&machine);
        assert_eq!(plan.nr_llcs, 2);
        assert_eq!((plan.cpus[&3].llc, plan.cpus[&4].llc), (0, 1));
    }
}
