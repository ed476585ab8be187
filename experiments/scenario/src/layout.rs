//! Where the workload's programs run: the facts about the measured machine that their command lines
//! need.

use std::net::{IpAddr, Ipv4Addr};

use steer_lab::facts::Facts;

/// CPUs and address of the measured machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// CPUs of each NUMA node.
    pub nodes: Vec<Vec<usize>>,
    /// CPUs of long-flow threads, if they are pinned by hand.
    pub long_cpus: Vec<usize>,
    /// CPUs of RPC threads, if they are pinned by hand.
    pub rpc_cpus: Vec<usize>,
    /// The address that the servers listen on.
    pub address: IpAddr,
}

impl Layout {
    /// The layout of a guest. Its network is private, so servers listen on all addresses.
    pub fn of_guest(facts: &Facts) -> Self {
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
    use steer_lab::facts::Nic;

    /// Two nodes with two CPUs each, and NICs on some of them.
    fn facts(nic_nodes: std::ops::Range<usize>) -> Facts {
        let nodes = vec![vec![0, 1], vec![2, 3]];
        let nic = |node: usize| Nic {
            name: format!("eth{node}"),
            node,
            cpus: nodes[node].clone(),
            queue_irqs: Vec::new(),
            tx_queues: 1,
        };
        Facts { nics: nic_nodes.map(nic).collect(), nodes }
    }

    #[test]
    fn long_flows_are_near_the_nics_and_rpcs_where_there_is_none() {
        let pins = |nic_nodes| {
            let layout = Layout::of_guest(&facts(nic_nodes));
            (layout.long_cpus, layout.rpc_cpus)
        };
        assert_eq!(pins(1..2), (vec![2, 3], vec![0, 1]));
        assert_eq!(pins(0..2), (vec![0, 1, 2, 3], vec![]));
    }
}
