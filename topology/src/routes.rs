//! The route by which the host would send packets to an address. Packets from that address are
//! assumed to come in by the same way if nothing in the packet names its NIC.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use neli::consts::nl::NlmF;
use neli::consts::rtnl::{RtAddrFamily, RtScope, RtTable, Rta, Rtm, RtmF, Rtn, Rtprot};
use neli::consts::socket::NlFamily;
use neli::rtnl::{Rtmsg, RtmsgBuilder};

use crate::error::Error;
use crate::netlink;

/// A host with more routes than this is a router for others. Its routes are not used.
pub const MAX_ROUTES: usize = 4096;

/// A range of addresses that the host reaches by the same interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The first address. IPv4 is written in its IPv6 form (`::ffff:10.0.0.0`).
    pub destination: Ipv6Addr,
    /// Prefix length of `destination`, 0 to 128. At least 96 for IPv4.
    pub prefix_len: u8,
    /// Numbers of the interfaces that packets leave by. Empty for the host's own addresses, and for
    /// addresses that it cannot reach.
    pub interfaces: BTreeSet<u32>,
}

/// The kernel tries routes to the same destination in this order: table, then metric.
type Preference = (u8, u32);

/// One message: destination and its prefix length, preference, interfaces.
type Way = ((Ipv6Addr, u8), Preference, BTreeSet<u32>);

/// The routes of the caller's network namespace, at most one for each destination. Routing rules
/// that look at anything but the destination are ignored. `None` if there are too many routes.
pub(crate) fn read() -> Result<Option<Vec<Route>>, Error> {
    let fault = |source| Error::AskKernel { what: "its routes", source };
    let question = RtmsgBuilder::default()
        .rtm_family(RtAddrFamily::Unspecified)
        .rtm_dst_len(0)
        .rtm_src_len(0)
        .rtm_tos(0)
        .rtm_table(RtTable::Unspec)
        .rtm_protocol(Rtprot::Unspec)
        .rtm_scope(RtScope::Universe)
        .rtm_type(Rtn::Unspec)
        .build()
        .map_err(|error| fault(io::Error::other(error)))?;
    let kind = Rtm::Getroute.into();
    let answers = netlink::ask(NlFamily::Route, kind, NlmF::DUMP, question, MAX_ROUTES, way);
    Ok(answers.map_err(fault)?.ok().map(preferred))
}

/// The preferred route of each destination. Routes of equal preference share the traffic.
fn preferred(ways: Vec<Way>) -> Vec<Route> {
    let mut best: BTreeMap<(Ipv6Addr, u8), (Preference, BTreeSet<u32>)> = BTreeMap::new();
    for (destination, preference, interfaces) in ways {
        let entry = best.entry(destination).or_insert_with(|| (preference, BTreeSet::new()));
        if preference < entry.0 {
            *entry = (preference, interfaces);
        } else if preference == entry.0 {
            entry.1.extend(interfaces);
        }
    }
    // without this entry, the default route of IPv6 would cover IPv4 addresses in IPv6 form
    let no_ipv4 = (Preference::default(), BTreeSet::new());
    best.entry((Ipv4Addr::UNSPECIFIED.to_ipv6_mapped(), 96)).or_insert(no_ipv4);
    best.into_iter()
        .map(|((destination, prefix_len), (_, interfaces))| Route {
            destination,
            prefix_len,
            interfaces,
        })
        .collect()
}

/// Reads one message. `None` if it is not a route to a destination.
fn way(message: &Rtmsg) -> Option<Way> {
    let table = match message.rtm_table() {
        RtTable::Local => 0,
        RtTable::Main => 1,
        RtTable::Default => 2,
        _ => return None,
    };
    if message.rtm_flags().contains(RtmF::CLONED) {
        return None;
    }
    let attributes = message.rtattrs().get_attr_handle();
    let bytes = |kind| attributes.get_attribute(kind).map(|a| a.rta_payload().as_ref());
    let number = |kind| attributes.get_attr_payload_as::<u32>(kind).ok();
    let (unspecified, width) = match message.rtm_family() {
        RtAddrFamily::Inet => (Ipv4Addr::UNSPECIFIED.to_ipv6_mapped(), 96),
        RtAddrFamily::Inet6 => (Ipv6Addr::UNSPECIFIED, 0),
        _ => return None,
    };
    let destination = bytes(Rta::Dst).map_or(Some(unspecified), address)?;
    let mut interfaces = BTreeSet::new();
    if *message.rtm_type() == Rtn::Unicast {
        interfaces.extend(number(Rta::Oif));
        interfaces.extend(next_hops(bytes(Rta::Multipath).unwrap_or_default()));
    }
    let prefix = (destination, width + *message.rtm_dst_len());
    Some((prefix, (table, number(Rta::Priority).unwrap_or(0)), interfaces))
}

/// An address of either family, as IPv6.
fn address(bytes: &[u8]) -> Option<Ipv6Addr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(|v4| Ipv4Addr::from(v4).to_ipv6_mapped()),
        _ => <[u8; 16]>::try_from(bytes).ok().map(Ipv6Addr::from),
    }
}

/// The interfaces in a list of `struct rtnexthop` (include/uapi/linux/rtnetlink.h). Each entry
/// starts with its length in two bytes, two unused bytes, and the interface number.
fn next_hops(mut list: &[u8]) -> Vec<u32> {
    let mut interfaces = Vec::new();
    while let [l0, l1, _, _, i0, i1, i2, i3, ..] = *list {
        interfaces.push(u32::from_ne_bytes([i0, i1, i2, i3]));
        let length = usize::from(u16::from_ne_bytes([l0, l1])).next_multiple_of(4);
        list = list.get(length.max(8)..).unwrap_or_default();
    }
    interfaces
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: [u32; 2] = [2, 3];

    fn found(ways: Vec<Way>, destination: &str, prefix_len: u8) -> Vec<u32> {
        let destination: Ipv6Addr = destination.parse().unwrap();
        let is_it =
            |route: &&Route| route.destination == destination && route.prefix_len == prefix_len;
        preferred(ways).iter().find(is_it).unwrap().interfaces.iter().copied().collect()
    }

    fn to(destination: &str, prefix_len: u8, preference: Preference, interfaces: &[u32]) -> Way {
        let interfaces = interfaces.iter().copied().collect();
        ((destination.parse().unwrap(), prefix_len), preference, interfaces)
    }

    #[test]
    fn table_then_metric_decide_and_equals_share() {
        let here = "::ffff:10.0.0.0";
        let main = |metric, interface| to(here, 120, (1, metric), &[interface]);
        assert_eq!(found(vec![main(200, 3), main(100, 2)], here, 120), [2]);
        assert_eq!(found(vec![main(100, 2), main(100, 3)], here, 120), TWO);
        let own = to(here, 120, (0, 900), &[]);
        assert_eq!(found(vec![main(0, 2), own], here, 120), [0; 0], "the host's own address");
    }

    #[test]
    fn ipv4_never_takes_the_default_route_of_ipv6() {
        let only_ipv6 = vec![to("::", 0, (1, 0), &[2])];
        assert_eq!(found(only_ipv6.clone(), "::ffff:0.0.0.0", 96), [0; 0]);
        assert_eq!(found(only_ipv6, "::", 0), [2]);
    }

    #[test]
    fn next_hops_are_read_and_damaged_lists_end() {
        let hop = |length: u16, interface: u32| {
            [&length.to_ne_bytes()[..], &[0, 0], &interface.to_ne_bytes(), &[7; 8]].concat()
        };
        assert_eq!(next_hops(&[hop(16, 2), hop(16, 3)].concat()), TWO);
        assert_eq!(next_hops(&hop(200, 2)), [2]);
        assert_eq!(next_hops(&hop(0, 2)[..8]), [2]);
        assert_eq!(next_hops(&[1, 2, 3]), [0; 0]);
    }

    #[test]
    fn both_families_become_ipv6() {
        assert_eq!(address(&[10, 0, 0, 1]), "::ffff:10.0.0.1".parse().ok());
        assert_eq!(address(&[0; 16]), Some(Ipv6Addr::UNSPECIFIED));
        assert_eq!(address(&[0; 5]), None);
    }

    #[test]
    fn this_host_reaches_itself_by_no_interface() {
        let routes = read().unwrap().unwrap();
        let loopback = "::ffff:127.0.0.0".parse::<Ipv6Addr>().unwrap();
        let own: Vec<_> = routes.iter().filter(|route| route.destination == loopback).collect();
        assert!(own.iter().all(|route| route.interfaces.is_empty()), "{own:?}");
    }
}
