//! Turns hwloc's object tree into plain data. It asks every CPU for its ancestors. This works for
//! any nesting of caches, nodes and packages, while a walk downwards must know the nesting.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::TopologyObjectID;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::ObjectType;

use super::plain::{cpus_of, plain, small};
use super::seats::{Seat, seats};
use crate::cpuset::{CpuSet, MAX_CPU};
use crate::machine::{Core, Cpu, Llc, Machine, Node, Package, Source};

/// What hwloc knows: the machine, still without NICs, and the places of its NICs.
#[derive(Debug)]
pub(crate) struct Described {
    /// The machine; its list of NICs is empty.
    pub(crate) machine: Machine,
    /// The NICs that hwloc sees.
    pub(crate) seats: Vec<Seat>,
}

/// Turns a topology into plain data. `kernel_nodes` has the CPUs of every node as the kernel sees
/// them. Without it, [`nodes_of_cpus`] derives them.
pub(crate) fn describe(
    topology: &Topology,
    source: Source,
    kernel_nodes: Option<&BTreeMap<u32, CpuSet>>,
) -> Described {
    let online = online_cpus(topology);
    let node_of = match kernel_nodes {
        Some(nodes) => invert(nodes),
        None => nodes_of_cpus(topology, &online),
    };
    let mut parts = Parts::default();
    let mut cpus: Vec<Cpu> = topology
        .objects_with_type(ObjectType::PU)
        .filter_map(|pu| Some((pu, small(pu.os_index()?)?)))
        .map(|(pu, id)| parts.cpu(pu, id, node_of.get(&id).copied()))
        .collect();
    cpus.sort_by_key(|cpu| cpu.id);
    let machine = Machine {
        source,
        packages: parts.packages.items,
        nodes: nodes(topology, &node_of),
        llcs: parts.llcs.items,
        cores: parts.cores.items,
        cpus,
        offline: offline_cpus(topology, &online),
        nics: Vec::new(),
    };
    Described { machine, seats: seats(topology, &online) }
}

/// The numbers of all CPUs in the topology.
fn online_cpus(topology: &Topology) -> CpuSet {
    topology.objects_with_type(ObjectType::PU).filter_map(|pu| small(pu.os_index()?)).collect()
}

/// CPUs of which hwloc only knows that they exist.
fn offline_cpus(topology: &Topology, online: &CpuSet) -> CpuSet {
    let known = topology.complete_cpuset();
    (0..=MAX_CPU).filter(|&cpu| known.is_set(cpu as usize) && !online.contains(cpu)).collect()
}

/// The packages, caches and cores found so far while going through the CPUs.
#[derive(Default)]
struct Parts {
    packages: Collected<Package>,
    llcs: Collected<Llc>,
    cores: Collected<Core>,
}

impl Parts {
    /// Describes one CPU, and adds it to the parts it belongs to.
    fn cpu(&mut self, pu: &TopologyObject, id: u32, node: Option<u32>) -> Cpu {
        let ancestor = |kind| pu.ancestors().find(|object| object.object_type() == kind);
        // If hwloc sees no cores, each CPU is its own core.
        let core = ancestor(ObjectType::Core);
        let core = self.cores.index(core.unwrap_or(pu), |object| Core {
            id: core.and(object.os_index()).and_then(small),
            cpus: CpuSet::new(),
        });
        let package =
            ancestor(ObjectType::Package).map(|object| self.packages.index(object, new_package));
        let llc = pu.ancestors().filter_map(new_llc).last();
        let llc = llc.map(|(object, llc)| self.llcs.index(object, |_| llc));

        self.cores.items[core].cpus.insert(id);
        if let Some(package) = package {
            self.packages.items[package].cpus.insert(id);
        }
        if let Some(llc) = llc {
            self.llcs.items[llc].cpus.insert(id);
            self.llcs.items[llc].nodes.extend(node);
        }
        Cpu { id, core, llc, node, package }
    }
}

/// Plain values made from hwloc objects, one for each object, in the order found.
struct Collected<T> {
    items: Vec<T>,
    seen: HashMap<TopologyObjectID, usize>,
}

impl<T> Default for Collected<T> {
    fn default() -> Collected<T> {
        Collected { items: Vec::new(), seen: HashMap::new() }
    }
}

impl<T> Collected<T> {
    /// The index of `object`'s value. Makes the value if the object is new.
    fn index(&mut self, object: &TopologyObject, make: impl FnOnce(&TopologyObject) -> T) -> usize {
        *self.seen.entry(object.global_persistent_index()).or_insert_with(|| {
            self.items.push(make(object));
            self.items.len() - 1
        })
    }
}

fn new_package(object: &TopologyObject) -> Package {
    let model = object.info("CPUModel").map(plain).filter(|model| !model.is_empty());
    Package { id: object.os_index().and_then(small), model, cpus: CpuSet::new() }
}

/// The object as a last-level cache, if it can be one. An L1 cannot: if only L1 is known, the
/// description lacks the others, not the machine.
fn new_llc(object: &TopologyObject) -> Option<(&TopologyObject, Llc)> {
    let Some(ObjectAttributes::Cache(cache)) = object.attributes() else { return None };
    let level = u8::try_from(cache.depth()).ok()?;
    let llc = Llc {
        level,
        size_bytes: cache.size().map(u64::from),
        cpus: CpuSet::new(),
        nodes: BTreeSet::new(),
    };
    (object.object_type().is_cpu_data_cache() && level >= 2).then_some((object, llc))
}

/// The node of every CPU, from hwloc's sets alone. hwloc also gives a memory tier without CPUs the
/// CPUs near it, so several nodes can list the same CPU. The node with the fewest CPUs gets it,
/// then the one with the lowest number, because Linux numbers nodes with CPUs first.
fn nodes_of_cpus(topology: &Topology, online: &CpuSet) -> BTreeMap<u32, u32> {
    let mut candidates: Vec<(usize, u32, CpuSet)> = topology
        .objects_with_type(ObjectType::NUMANode)
        .filter_map(|node| Some((small(node.os_index()?)?, cpus_of(node, online))))
        .map(|(id, cpus)| (cpus.len(), id, cpus))
        .collect();
    candidates.sort();
    let mut node_of = BTreeMap::new();
    for (_, id, cpus) in candidates {
        for cpu in cpus.iter() {
            node_of.entry(cpu).or_insert(id);
        }
    }
    node_of
}

/// Turns the CPUs of each node into the node of each CPU.
fn invert(nodes: &BTreeMap<u32, CpuSet>) -> BTreeMap<u32, u32> {
    nodes.iter().flat_map(|(&id, cpus)| cpus.iter().map(move |cpu| (cpu, id))).collect()
}

/// The nodes by number.
fn nodes(topology: &Topology, node_of: &BTreeMap<u32, u32>) -> Vec<Node> {
    let distances = distances(topology);
    let mut nodes: Vec<Node> = topology
        .objects_with_type(ObjectType::NUMANode)
        .filter_map(|object| Some((object, small(object.os_index()?)?)))
        .map(|(object, id)| Node {
            id,
            cpus: node_of.iter().filter(|(_, node)| **node == id).map(|(&cpu, _)| cpu).collect(),
            memory_bytes: match object.attributes() {
                Some(ObjectAttributes::NUMANode(memory)) => memory.local_memory().map(u64::from),
                _ => None,
            },
            distances: distances.get(&id).cloned(),
        })
        .collect();
    nodes.sort_by_key(|node| node.id);
    nodes
}

/// The firmware's latency table (ACPI SLIT) by node numbers; empty if there is none. hwloc only
/// fails here if memory runs out. The table is a hint, so an error does not end the description.
fn distances(topology: &Topology) -> BTreeMap<u32, BTreeMap<u32, u32>> {
    let mut table: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
    let matrices = topology.distances_with_name("NUMALatency").unwrap_or_default();
    let id = |object: Option<&TopologyObject>| object?.os_index().and_then(small);
    for ((from, to), distance) in matrices.iter().flat_map(|matrix| matrix.object_distances()) {
        if let (Some(from), Some(to), Ok(distance)) = (id(from), id(to), u32::try_from(distance)) {
            table.entry(from).or_default().insert(to, distance);
        }
    }
    table
}

/// A machine from hwloc's synthetic description, such as `node:2 core:2 pu:1`.
#[cfg(test)]
pub(crate) fn test_machine(synthetic: &str) -> Machine {
    let topology = Topology::builder().from_synthetic(synthetic).unwrap().build().unwrap();
    describe(&topology, Source::Xml(synthetic.into()), None).machine
}
