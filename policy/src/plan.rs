//! From a machine to what the scheduler needs to know of each CPU.

use std::collections::BTreeMap;

use serde::Serialize;
use steer_topology::{CpuSet, Machine};

/// Where CPUs stand to caches, cores and NICs, by the numbers the kernel side uses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// By CPU number.
    pub cpus: BTreeMap<u32, CpuPlace>,
    /// Last-level caches, numbered from 0 in the machine's order, so that neighbours are near.
    pub nr_llcs: u32,
    /// NICs that threads can be near to; a NIC's index here is its bit in `CpuPlace::nics_local`.
    pub nics: Vec<PlannedNic>,
}

/// One CPU of a [`Plan`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuPlace {
    /// Index of the last-level cache.
    pub llc: u32,
    /// Lowest CPU number of the core.
    pub core: u32,
    /// Indices into [`Plan::nics`] of those this CPU is NIC-local to.
    pub nics_local: Vec<u32>,
}

/// One NIC of a [`Plan`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedNic {
    /// Interface name.
    pub name: String,
    /// Interface index, as packets carry it.
    pub ifindex: u32,
    /// NUMA node, `None` if unknown.
    pub node: Option<u32>,
    /// The NIC-local CPUs.
    pub local_cpus: CpuSet,
}

impl Plan {
    /// The plan of a live machine.
    ///
    /// A NIC whose place is unknown is left out: no CPU is nearer to it than another. Likewise one
    /// without an interface index (read from a file): no packet can name it. CPUs without a known
    /// last-level cache share one per node.
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
                let place = CpuPlace {
                    llc: llc_numbers[&(cpu.llc, cpu.llc.is_none().then_some(cpu.node))],
                    core: first_of_core[&cpu.core],
                    nics_local: (0u32..)
                        .zip(&nics)
                        .filter(|(_, nic)| nic.local_cpus.contains(cpu.id))
                        .map(|(index, _)| index)
                        .collect(),
                };
                (cpu.id, place)
            })
            .collect();
        Self { cpus, nr_llcs: llc_numbers.len().max(1) as u32, nics }
    }
}
