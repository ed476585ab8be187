//! Placement on every shape of machine, starting from its hwloc description: the NIC-local CPUs of
//! each NIC in the order in which long flows fill them, and the CPUs that a thread on a full core
//! may move to, nearest first. The costs come from the kernel side (pure/spill.h).
//!
//! To add a shape, add a line to [`SHAPES`]; `cargo insta review` shows the result.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::Path,
};

use steer_bpf::intf::{
    cpu_distance, cpu_distance_DISTANCE_LLC, cpu_distance_DISTANCE_NODE,
    cpu_distance_DISTANCE_SIBLING, native_cpu_distance, native_spill_cost, native_spread_cost,
};
use steer_topology::{CpuSet, Machine, tree};

use super::{super::*, no_devices};

/// Where the description comes from.
enum From {
    /// An XML file of the topology crate's tests.
    File(&'static str),
    /// hwloc's synthetic description, and the NICs with the part that each is attached to.
    Made(&'static str, &'static [(&'static str, &'static str, usize)]),
}
use From::{File, Made};

const SHAPES: [(&str, From); 18] = [
    ("one_node_with_smt", File("one-node")),
    ("two_nodes", File("lab")),
    (
        "four_packages_without_smt",
        Made(
            "package:4 node:1 l3:1 core:4 pu:1",
            &[("eth0", "Package", 0), ("eth1", "Package", 3)],
        ),
    ),
    (
        "eight_nodes_nps4",
        Made(
            "package:2 node:4 l3:2 core:2 pu:2(indexes=2*32:32*1)",
            &[("eth0", "Group", 5), ("eth1", "Package", 0)],
        ),
    ),
    ("sub_numa_one_l3_over_two_nodes", File("snc")),
    ("several_l3_in_a_node", File("several-l3")),
    ("no_l3_and_two_memories", File("no-l3")),
    ("smt_off", File("smt-off")),
    // SMT siblings have neighbouring numbers, and every second one is offline
    (
        "smt_off_leaves_holes",
        Made(
            "package:2 node:1 l3:1 core:4 pu:1(indexes=0,2,4,6,8,10,12,14)",
            &[("eth0", "Package", 0)],
        ),
    ),
    ("hybrid_cores", File("hybrid")),
    ("a_memory_tier_without_cpus", File("tier")),
    ("node_numbers_with_gaps", File("node-gaps")),
    (
        "cpu_and_node_numbers_with_gaps",
        Made(
            "node:2(indexes=1,4) l3:1 core:2 pu:2(indexes=2,3,6,7,70,71,200,201)",
            &[("eth0", "L3Cache", 1)],
        ),
    ),
    (
        "a_bridge_shared_by_two_packages",
        Made("group:2 package:2 node:1 l3:1 core:2 pu:1", &[("eth0", "Group", 1)]),
    ),
    ("a_nic_with_unknown_place", File("unknown-place")),
    (
        "more_than_64_cpus",
        Made(
            "package:2 node:1 l3:3 core:8 pu:2(indexes=2*48:48*1)",
            &[("eth0", "Package", 1), ("eth1", "L3Cache", 2)],
        ),
    ),
    (
        "one_cache_with_several_queues",
        Made("package:1 node:1 l3:1 core:42 pu:2(indexes=2*42:42*1)", &[("eth0", "Package", 0)]),
    ),
    (
        "more_than_256_cpus",
        Made(
            "package:2 node:4 l3:4 core:5 pu:2(indexes=2*160:160*1)",
            &[("eth0", "Package", 1), ("eth1", "Group", 0)],
        ),
    ),
];

const CLASSES: [(cpu_distance, &str); 3] = [
    (cpu_distance_DISTANCE_LLC, "same cache"),
    (cpu_distance_DISTANCE_SIBLING, "sibling"),
    (cpu_distance_DISTANCE_NODE, "same node"),
];

#[test]
fn every_shape_of_machine() {
    for (name, from) in SHAPES {
        let mut machine = match from {
            Made(description, nics) => Machine::synthetic(description, nics),
            File(file) => {
                let file = format!("../topology/tests/fixtures/xml/{file}.xml");
                Machine::from_xml(Path::new(&file))
            }
        }
        .unwrap();
        // live NICs have an interface number, by which packets name them
        for (nic, ifindex) in machine.nics.iter_mut().zip(2..) {
            nic.ifindex = Some(ifindex);
        }
        insta::assert_snapshot!(name, placement(&machine));
    }
}

/// The placement on a machine, as text.
fn placement(machine: &Machine) -> String {
    let planned = Plan::new(machine).divided(Placement::default().queue_cpus);
    let tables = plan(&planned, &no_devices()).unwrap();
    let online: CpuSet =
        (0..).zip(&tables.cpus).filter(|(_, c)| c.online).map(|(n, _)| n).collect();
    let shape = Shape { cpus: &tables.cpus, online };

    let mut text = tree(machine).to_string().lines().next().unwrap().to_owned();
    for llc in 0..planned.nr_llcs {
        let cpus = shape.among(|cpu| cpu.llc == llc);
        write!(text, "\ncache {llc}: {cpus}").unwrap();
        let shards: BTreeSet<u32> = cpus.iter().map(|cpu| shape.at(cpu).shard).collect();
        if shards.len() > 1 {
            let lists = shards.iter().map(|it| shape.among(|cpu| cpu.shard == *it).to_string());
            write!(text, ", queues {}", lists.collect::<Vec<_>>().join(" | ")).unwrap();
        }
    }
    let mut homes: BTreeSet<u32> =
        shape.online.first().into_iter().chain(shape.online.last()).collect();
    for (nic, index) in planned.nics.iter().zip(0..) {
        let local = shape.among(|cpu| cpu.nics_local >> index & 1 == 1);
        homes.extend(local.first());
        write!(text, "\nNIC {}: NIC-local {local}", nic.name).unwrap();
        write!(text, "\n  long flows fill {}", shape.filled(&local)).unwrap();
    }
    for nic in machine.nics.iter().filter(|nic| nic.local_cpus.is_none()) {
        write!(text, "\nNIC {}: its place is unknown, so no CPU is NIC-local", nic.name).unwrap();
    }
    for home in homes {
        let all = shape.spill(home, &shape.online);
        write!(text, "\nfrom full CPU {home}: {all}").unwrap();
        for nic in planned.nics.iter().filter(|nic| nic.local_cpus.contains(home)) {
            let local = shape.spill(home, &nic.local_cpus);
            if local != all {
                write!(text, "\n  if the packets of {} follow: {local}", nic.name).unwrap();
            }
        }
    }
    text
}

/// The machine as the kernel side sees it.
struct Shape<'a> {
    cpus: &'a [cpu_plan],
    /// Online CPUs: those that may_run_on() allows.
    online: CpuSet,
}

impl Shape<'_> {
    fn at(&self, cpu: u32) -> &cpu_plan {
        &self.cpus[cpu as usize]
    }

    fn among(&self, wanted: impl Fn(&cpu_plan) -> bool) -> CpuSet {
        self.online.iter().filter(|cpu| wanted(self.at(*cpu))).collect()
    }

    /// The CPUs that get one long flow each until every core has one, by cache. As in
    /// pick_nic_local(), the cheapest CPU comes first, and among equals the first.
    fn filled(&self, local: &CpuSet) -> String {
        let mut threads: BTreeMap<u32, u32> = BTreeMap::new();
        let mut caches: BTreeMap<u32, u32> = BTreeMap::new();
        let mut order = Vec::new();
        loop {
            let on_core = |cpu: &u32| threads.get(&self.at(*cpu).core).copied().unwrap_or(0);
            let on_llc = |cpu: &u32| caches.get(&self.at(*cpu).llc).copied().unwrap_or(0);
            // SAFETY: no pointer is passed.
            let cost = |cpu: &u32| unsafe { native_spread_cost(on_core(cpu), on_llc(cpu), 0) };
            let Some(cpu) = local.iter().min_by_key(cost).filter(|cpu| on_core(cpu) == 0) else {
                break;
            };
            *threads.entry(self.at(cpu).core).or_default() += 1;
            *caches.entry(self.at(cpu).llc).or_default() += 1;
            order.push(cpu);
        }
        let caches = order.chunk_by(|a, b| self.at(*a).llc == self.at(*b).llc);
        let names = caches.map(|cpus| format!("{} (cache {})", list(cpus), self.at(cpus[0]).llc));
        names.collect::<Vec<_>>().join(", ")
    }

    /// Where a thread goes from a full `home`, nearest first, if nothing runs elsewhere. As in
    /// pick_spill(), the cheapest CPU comes first, and among equals the first.
    fn spill(&self, home: u32, allowed: &CpuSet) -> String {
        let from = self.at(home);
        // SAFETY: both point to live structs.
        let cost = |to: u32| unsafe { native_spill_cost(from, self.at(to), 0) };
        // SAFETY: as above.
        let distance = |to: u32| unsafe { native_cpu_distance(from, self.at(to)) };
        let mut order: Vec<u32> =
            allowed.iter().filter(|cpu| *cpu != home && cost(*cpu) != u64::MAX).collect();
        order.sort_by_key(|cpu| (cost(*cpu), *cpu));
        let steps = order.chunk_by(|a, b| distance(*a) == distance(*b)).map(|cpus| {
            let class = CLASSES.iter().find(|(class, _)| *class == distance(cpus[0]));
            format!("{} {}", class.unwrap().1, list(cpus))
        });
        let steps = steps.collect::<Vec<_>>().join(", then ");
        if steps.is_empty() { "stays".into() } else { steps }
    }
}

/// CPUs as a list. They must be in ascending order, because the list shows no other.
fn list(cpus: &[u32]) -> CpuSet {
    assert!(cpus.is_sorted());
    cpus.iter().copied().collect()
}
