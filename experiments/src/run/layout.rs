//! Where the workload's programs run: what their command lines have to know of the measured machine.

use std::net::{IpAddr, Ipv4Addr};

use crate::lab::facts::Facts;

/// CPUs and address of the measured machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// CPUs of each NUMA node.
    pub(super) nodes: Vec<Vec<usize>>,
    /// CPUs of long-flow threads, where they are pinned by hand.
    pub(super) long_cpus: Vec<usize>,
    /// CPUs of RPC threads, where they are pinned by hand.
    pub(super) rpc_cpus: Vec<usize>,
    /// The address to serve at.
    pub(super) address: IpAddr,
}

impl Layout {
    /// In a guest, whose network is nobody else's.
    pub(super) fn of_guest(facts: &Facts) -> Self {
        Self {
            nodes: facts.nodes.clone(),
            long_cpus: facts.local_cpus(),
            rpc_cpus: facts.remote_cpus(),
            address: Ipv4Addr::UNSPECIFIED.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_flows_are_near_the_nics_and_rpcs_where_there_is_none() {
        let pins = |nic_nodes| {
            let layout = Layout::of_guest(&Facts::example(nic_nodes));
            (layout.long_cpus, layout.rpc_cpus)
        };
        assert_eq!(pins(1..2), (vec![2, 3], vec![0, 1]));
        assert_eq!(pins(0..2), (vec![0, 1, 2, 3], vec![]));
    }
}
