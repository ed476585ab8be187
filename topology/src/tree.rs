//! Prints the machine as a tree for people: packages, nodes, last-level caches, cores. Each NIC is
//! listed under its node, with queues and IRQs. Similar cores and similar IRQs share a line.

mod fold;

use std::collections::BTreeSet;
use std::fmt::Display;

use termtree::Tree;

use crate::cpuset::CpuSet;
use crate::machine::{Llc, Machine, Node, Package};
use crate::nic::Nic;
use fold::{core_runs, irq_runs};

/// The machine as text, as `scx_steer topology` prints it. Every line ends with a newline.
pub fn tree(machine: &Machine) -> impl Display + use<> {
    let mut shown = BTreeSet::new();
    let mut root = Tree::new(summary(machine));
    for package in &machine.packages {
        let mut branch = Tree::new(package_line(package));
        branch.extend(node_trees(machine, &package.cpus, &mut shown));
        root.push(branch);
    }
    let packaged: CpuSet =
        machine.packages.iter().flat_map(|package| package.cpus.iter()).collect();
    root.extend(node_trees(machine, &machine.online_cpus().difference(&packaged), &mut shown));
    root.extend(
        machine
            .nodes
            .iter()
            .filter(|node| node.cpus.is_empty())
            .map(|node| Tree::new(node_line(node)).with_leaves(nic_trees(machine, Some(node.id)))),
    );
    let homeless = nic_trees(machine, None);
    if !homeless.is_empty() {
        root.push(Tree::new("NICs, node unknown".to_owned()).with_leaves(homeless));
    }
    root
}

/// The first line: the number of each kind of part.
fn summary(machine: &Machine) -> String {
    let offline = match machine.offline.is_empty() {
        true => String::new(),
        false => format!(" (offline: {})", machine.offline),
    };
    format!(
        "{}: {}, {}, {}, {}{offline}, {}",
        machine.source,
        count(machine.packages.len(), "package"),
        count(machine.nodes.len(), "node"),
        count(machine.cores.len(), "core"),
        count(machine.cpus.len(), "CPU"),
        count(machine.nics.len(), "NIC"),
    )
}

fn package_line(package: &Package) -> String {
    let model = package.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
    format!("package {}: CPUs {}{model}", known(package.id), package.cpus)
}

/// The nodes of the CPUs `within`, and the CPUs among them that have no node. A node across several
/// packages is listed in each of them, but its NICs only in the first (`shown` remembers).
fn node_trees(machine: &Machine, within: &CpuSet, shown: &mut BTreeSet<u32>) -> Vec<Tree<String>> {
    let mut trees = Vec::new();
    for node in machine.nodes.iter().filter(|node| !node.cpus.is_disjoint(within)) {
        let mut tree = Tree::new(node_line(node));
        tree.extend(llc_trees(machine, &node.cpus.intersection(within)));
        if shown.insert(node.id) {
            tree.extend(nic_trees(machine, Some(node.id)));
        }
        trees.push(tree);
    }
    let nodeless =
        machine.nodes.iter().fold(within.clone(), |rest, node| rest.difference(&node.cpus));
    if !nodeless.is_empty() {
        let title = format!("no node: CPUs {nodeless}");
        trees.push(Tree::new(title).with_leaves(llc_trees(machine, &nodeless)));
    }
    trees
}

fn node_line(node: &Node) -> String {
    let cpus = match node.cpus.is_empty() {
        true => "no CPUs".to_owned(),
        false => format!("CPUs {}", node.cpus),
    };
    let memory = node.memory_bytes.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
    let others: Vec<String> = (node.distances.iter().flatten())
        .filter(|(other, _)| **other != node.id)
        .map(|(other, distance)| format!("{distance} to node {other}"))
        .collect();
    let distances = match others.is_empty() {
        true => String::new(),
        false => format!(", distance {}", others.join(", ")),
    };
    format!("node {}: {cpus}{memory}{distances}", node.id)
}

/// The last-level caches of the CPUs `within`, with their cores, then the cores without a cache.
fn llc_trees(machine: &Machine, within: &CpuSet) -> Vec<Tree<String>> {
    let mut trees = Vec::new();
    for llc in machine.llcs.iter().filter(|llc| !llc.cpus.is_disjoint(within)) {
        let here = llc.cpus.intersection(within);
        let tree = Tree::new(llc_line(llc, &here));
        trees.push(tree.with_leaves(core_runs(machine, &here)));
    }
    let cacheless =
        machine.llcs.iter().fold(within.clone(), |rest, llc| rest.difference(&llc.cpus));
    trees.extend(core_runs(machine, &cacheless).into_iter().map(Tree::new));
    trees
}

fn llc_line(llc: &Llc, here: &CpuSet) -> String {
    let size = llc.size_bytes.map(|bytes| format!(" {}", size(bytes))).unwrap_or_default();
    let elsewhere = llc.cpus.difference(here);
    let shared = match elsewhere.is_empty() {
        true => String::new(),
        false => format!(", shared with CPUs {elsewhere}"),
    };
    format!("L{}{size}: CPUs {here}{shared}", llc.level)
}

/// The NICs of a node, or those without a known node.
fn nic_trees(machine: &Machine, node: Option<u32>) -> Vec<Tree<String>> {
    machine
        .nics
        .iter()
        .filter(|nic| nic.node == node)
        .map(|nic| Tree::new(nic_line(nic)).with_leaves(irq_runs(&nic.irqs)))
        .collect()
}

fn nic_line(nic: &Nic) -> String {
    let speed = nic.speed_mbps.map(|speed| format!("{speed} Mbit/s"));
    let queues = nic.queues.map(|queues| format!("queues {} rx {} tx", queues.rx, queues.tx));
    let local = match &nic.local_cpus {
        Some(cpus) => format!("local CPUs {cpus}"),
        None => "local CPUs unknown".to_owned(),
    };
    let facts = [nic.pci.clone(), nic.driver.clone(), nic.operstate.clone(), speed, queues];
    let facts: Vec<String> = facts.into_iter().flatten().chain([local]).collect();
    format!("NIC {}: {}", nic.name, facts.join(", "))
}

/// A size in bytes, in the largest unit that keeps the number readable.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = (1..UNITS.len()).rev().find(|unit| bytes >= 1 << (10 * unit)).unwrap_or(0);
    let value = format!("{:.1}", bytes as f64 / (1u64 << (10 * unit)) as f64);
    format!("{} {}", value.strip_suffix(".0").unwrap_or(&value), UNITS[unit])
}

/// "1 core", "2 cores".
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A number, or a question mark if it is unknown.
fn known(id: Option<u32>) -> String {
    id.map_or("?".to_owned(), |id| id.to_string())
}

#[cfg(test)]
mod tests;
