//! Works out which NIC a packet came through, from what can be known about it: its interface, its
//! NAPI context, its peer's address.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv6Addr,
};

use serde::Serialize;
use steer_topology::{Interface, NetworkDevices};

use crate::plan::Plan;

/// The tables that find a socket's NIC. A NIC is given by its index in [`Plan::nics`].
///
/// Packets may come through several NICs, for instance through a bond. If all of these are near
/// the same CPUs, the first by name stands for them. Otherwise the NIC is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Origins {
    /// NIC by interface number, including bonds, VLANs, bridges … on top of NICs.
    pub interfaces: BTreeMap<u32, u32>,
    /// NIC by NAPI number.
    pub napis: BTreeMap<u32, u32>,
    /// NIC by address prefix of the peer: first address and prefix length. The longest prefix
    /// wins, even if it stands for no NIC. Empty if no prefix stands for a NIC.
    pub peers: BTreeMap<(Ipv6Addr, u8), Option<u32>>,
}

impl Origins {
    /// Builds the tables for the NICs of `plan` from the network devices.
    pub fn new(plan: &Plan, devices: &NetworkDevices) -> Self {
        let nic_of = |ifindex: &u32| only_nic(plan, &devices.interfaces.get(ifindex)?.nics);
        let peers: BTreeMap<_, _> = devices
            .routes
            .iter()
            .flatten()
            .map(|route| {
                let below = route.interfaces.iter().map(|i| devices.interfaces.get(i));
                // if one of the ways does not end at a NIC, the NIC is unknown
                let nic = below.collect::<Option<Vec<&Interface>>>().and_then(|interfaces| {
                    let known = interfaces.iter().all(|interface| !interface.nics.is_empty());
                    let all = interfaces.iter().flat_map(|i| i.nics.iter().cloned()).collect();
                    known.then(|| only_nic(plan, &all)).flatten()
                });
                ((route.destination, route.prefix_len), nic)
            })
            .collect();
        Self {
            interfaces: devices.interfaces.keys().filter_map(|i| Some((*i, nic_of(i)?))).collect(),
            napis: devices.napis.iter().filter_map(|(id, i)| Some((*id, nic_of(i)?))).collect(),
            peers: if peers.values().any(Option::is_some) { peers } else { BTreeMap::new() },
        }
    }
}

/// The NIC that stands for all of `names`: the first, if all are in the plan and near the same
/// CPUs.
fn only_nic(plan: &Plan, names: &BTreeSet<String>) -> Option<u32> {
    let index = |name: &String| plan.nics.iter().position(|nic| nic.name == *name);
    let indices = names.iter().map(index).collect::<Option<Vec<_>>>()?;
    let first = *indices.first()?;
    let near = |index: usize| &plan.nics[index].local_cpus;
    let agree = indices.iter().all(|index| near(*index) == near(first));
    agree.then(|| u32::try_from(first).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use steer_topology::Route;

    use super::*;
    use crate::plan::PlannedNic;

    /// eth0 and eth1 are near the same CPUs, eth2 is near others, and eth9 is not in the plan.
    fn plan() -> Plan {
        let nic = |name: &str, ifindex, cpus: &str| PlannedNic {
            name: name.into(),
            ifindex,
            node: None,
            local_cpus: cpus.parse().unwrap(),
        };
        let nics = vec![nic("eth0", 2, "0-3"), nic("eth1", 3, "0-3"), nic("eth2", 4, "4-7")];
        Plan { cpus: BTreeMap::new(), nr_llcs: 1, nr_shards: 1, nics }
    }

    fn devices() -> NetworkDevices {
        let stacks: [(&str, &[&str]); 9] = [
            ("lo", &[]),
            ("eth0", &["eth0"]),
            ("eth1", &["eth1"]),
            ("eth2", &["eth2"]),
            ("bond0", &["eth0", "eth1"]),
            ("bond0.7", &["eth0", "eth1"]),
            ("bond1", &["eth1", "eth2"]),
            ("br0", &["eth0", "eth9"]),
            ("veth0", &[]),
        ];
        let interface = |(name, nics): (&str, &[&str])| Interface {
            name: name.into(),
            nics: nics.iter().map(|nic| (*nic).to_owned()).collect(),
        };
        NetworkDevices {
            interfaces: (1..).zip(stacks.map(interface)).collect(),
            napis: [(300, 2), (301, 4), (302, 9), (303, 99)].into(),
            smallest_napi: Some(257),
            routes: None,
            namespace: None,
        }
    }

    fn routed(ways: &[(&str, &[u32])]) -> Origins {
        let route = |(destination, interfaces): &(&str, &[u32])| Route {
            destination: destination.parse().unwrap(),
            prefix_len: 104,
            interfaces: interfaces.iter().copied().collect(),
        };
        let routes = Some(ways.iter().map(route).collect());
        Origins::new(&plan(), &NetworkDevices { routes, ..devices() })
    }

    #[test]
    fn stacks_on_nics_of_one_place_stand_for_the_first() {
        let found = Origins::new(&plan(), &devices()).interfaces;
        assert_eq!(found, [(2, 0), (3, 1), (4, 2), (5, 0), (6, 0)].into(), "bond0 and its VLAN");
    }

    #[test]
    fn napi_contexts_are_those_of_their_interface() {
        assert_eq!(Origins::new(&plan(), &devices()).napis, [(300, 0), (301, 2)].into());
    }

    #[test]
    fn peers_are_behind_the_way_out() {
        let way = |interfaces: &[u32]| {
            let peers = routed(&[("::ffff:10.0.0.0", interfaces), ("::ffff:11.0.0.0", &[2])]).peers;
            peers[&("::ffff:10.0.0.0".parse().unwrap(), 104)]
        };
        assert_eq!(way(&[4]), Some(2));
        assert_eq!(way(&[5]), Some(0), "by a bond");
        assert_eq!(way(&[2, 3]), Some(0), "by two NICs of one place");
        assert_eq!(way(&[2, 4]), None, "by two NICs of two places");
        assert_eq!(way(&[2, 9]), None, "perhaps by a NIC, perhaps to a container");
        assert_eq!(way(&[]), None, "the host's own address");
        assert_eq!(way(&[77]), None, "an interface that left meanwhile");
    }

    #[test]
    fn routes_that_name_no_nic_are_left_out() {
        assert_eq!(routed(&[("::ffff:10.0.0.0", &[9]), ("::ffff:11.0.0.0", &[])]).peers, [].into());
    }
}
