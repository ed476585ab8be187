//! The place of a NIC, from two sources: the CPUs that hwloc sees around it, and the node that the
//! kernel gives its device.

use std::collections::BTreeSet;

use crate::cpuset::CpuSet;
use crate::machine::Machine;

/// The place of a NIC.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Locality {
    /// Number of its node.
    pub(crate) node: Option<u32>,
    /// The NIC-local CPUs.
    pub(crate) cpus: Option<CpuSet>,
}

impl Locality {
    /// Weighs the two sources. `around` is `None` if hwloc found nothing smaller than the machine
    /// around the NIC. `kernel_node` is `None` if the kernel's number is -1 or missing.
    ///
    /// hwloc comes first. It is more precise if a node has several L3s, and an administrator can
    /// correct its answer (`HWLOC_PCI_LOCALITY`) if the firmware is wrong.
    pub(crate) fn of(
        machine: &Machine,
        around: Option<&CpuSet>,
        kernel_node: Option<u32>,
    ) -> Locality {
        let places: Vec<u32> = machine.nodes_with_cpus().map(|node| node.id).collect();
        if let [only] = places[..] {
            let around = around.filter(|cpus| !cpus.is_empty()).cloned();
            let cpus = around.unwrap_or_else(|| machine.online_cpus());
            return Locality { node: Some(only), cpus: Some(cpus) };
        }
        let kernel_node = kernel_node.and_then(|node| machine.node(node));
        let cpus =
            around.or(kernel_node.map(|node| &node.cpus)).filter(|cpus| !cpus.is_empty()).cloned();
        let node = cpus.as_ref().and_then(|cpus| only_node(machine, cpus));
        Locality { node: node.or(kernel_node.map(|node| node.id)), cpus }
    }
}

/// The node of these CPUs, if all are on the same node.
fn only_node(machine: &Machine, cpus: &CpuSet) -> Option<u32> {
    let nodes: BTreeSet<u32> =
        cpus.iter().filter_map(|cpu| machine.cpu(cpu).and_then(|cpu| cpu.node)).collect();
    nodes.first().copied().filter(|_| nodes.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hwloc::test_machine;
    use crate::machine::Node;

    fn place(
        machine: &Machine,
        around: Option<&str>,
        kernel: Option<u32>,
    ) -> (Option<u32>, String) {
        let around: Option<CpuSet> = around.map(|cpus| cpus.parse().unwrap());
        let place = Locality::of(machine, around.as_ref(), kernel);
        (place.node, place.cpus.map_or("unknown".into(), |cpus| cpus.to_string()))
    }

    #[test]
    fn on_one_node_everything_is_local() {
        let machine = test_machine("node:1 core:4 pu:1");
        assert_eq!(place(&machine, None, None), (Some(0), "0-3".into()));
    }

    #[test]
    fn on_two_nodes_unknown_stays_unknown() {
        let machine = test_machine("node:2 core:2 pu:1");
        assert_eq!(place(&machine, None, None), (None, "unknown".into()));
        assert_eq!(place(&machine, None, Some(1)), (Some(1), "2-3".into()));
        assert_eq!(place(&machine, Some("2-3"), None), (Some(1), "2-3".into()));
        assert_eq!(place(&machine, None, Some(7)), (None, "unknown".into()), "no such node");
    }

    #[test]
    fn near_a_memory_tier_without_cpus_no_cpu_is_local() {
        let mut machine = test_machine("node:2 core:2 pu:1");
        let tier =
            Node { id: 2, cpus: CpuSet::new(), memory_bytes: Some(1 << 30), distances: None };
        machine.nodes.push(tier);
        assert_eq!(place(&machine, None, Some(2)), (Some(2), "unknown".into()));
        assert_eq!(place(&machine, Some(""), Some(1)), (Some(1), "unknown".into()));
    }

    #[test]
    fn hwloc_outweighs_the_kernel() {
        let machine = test_machine("node:2 core:2 pu:1");
        assert_eq!(place(&machine, Some("0-1"), Some(1)), (Some(0), "0-1".into()));
    }

    #[test]
    fn a_part_over_several_nodes_leaves_the_node_to_the_kernel() {
        let machine = test_machine("package:2 node:2 core:2 pu:1");
        assert_eq!(place(&machine, Some("0-3"), None), (None, "0-3".into()));
        assert_eq!(place(&machine, Some("0-3"), Some(1)), (Some(1), "0-3".into()));
    }
}
