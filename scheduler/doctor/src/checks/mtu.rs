//! Frame sizes: of the NIC, of the path, of the peers.

use std::collections::BTreeMap;

use crate::case::{Case, Checked, Unchecked, each};
use crate::connections::Connection;
use crate::host::Host;
use crate::row::{Area, Row, Severity};

/// Ethernet's own, in bytes.
const ETHERNET: u32 = 1500;
/// From here on one core cannot keep up with the link (Mbit/s).
const FAST: u32 = 25_000;
/// Peers shown.
const SHOWN: usize = 4;

pub(crate) const SMALL: Row = Row {
    id: "mtu-small-for-speed",
    area: Area::Host,
    severity: Severity::Note,
    title: "A fast NIC sends frames of 1500 bytes.",
    looks: "/sys/class/net/NIC/mtu and speed, from 25 Gb/s.",
    why: "With jumbo frames GRO has a sixth of the packets to merge, which took two thirds off its \
          cost in the host-network-stack paper; in the end-system paper 8 KB frames brought up to 70 % \
          more bandwidth. All hosts and switches of the network must take the larger frames first.",
    source: "host-network-stack paper, section 3.1; end-system paper, sections 4.2 and 5",
    fix: "sudo ip link set {nic} mtu 9000",
    undo: "sudo ip link set {nic} mtu {mtu}",
    check: |host| {
        each(host.nics_up()?, |nic| {
            let file = |name: &str| format!("sys/class/net/{}/{name}", nic.name());
            let Some(mtu) = host.root.value::<u32>(&file("mtu"))? else { return Ok(None) };
            let speed = nic.state.speed_mbps.filter(|speed| *speed >= FAST && mtu <= ETHERNET);
            Ok(speed.map(|speed| {
                Case::of(nic.name())
                    .saw(file("mtu"), mtu)
                    .saw(file("speed"), speed)
                    .with("nic", nic.name())
                    .with("mtu", mtu)
            }))
        })
    },
};

pub(crate) const PEERS: Row = Row {
    id: "mtu-larger-than-path",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Frames are larger here than the path to a peer, or the peer itself, takes.",
    looks: "TCP connections to other hosts (`ss -tin`): the path's MTU (pmtu) and the peer's segment \
            size (mss), against that of the own interface (advmss).",
    why: "Each connection first has to find out what the path takes; where messages about it are \
          filtered, large packets are lost until it has. And the host pays for large receive buffers \
          that stay nearly empty. Give both ends and the path one MTU, or the route to these peers a \
          smaller one.",
    source: "end-system paper, section 2.1; Documentation/networking/ip-sysctl.rst, tcp_mtu_probing",
    fix: "sudo ip route add {peer} via GATEWAY mtu lock {mtu}",
    undo: "sudo ip route del {peer}",
    check: peers,
};

fn peers(host: &Host) -> Checked {
    let connections = host.facts.connections.as_ref().map_err(|why| Unchecked(why.clone()))?;
    let mut smallest: BTreeMap<&str, (&Connection, u32)> = BTreeMap::new();
    for connection in connections {
        let Some(takes) = connection.less_than_own() else { continue };
        let entry = smallest.entry(&connection.peer).or_insert((connection, takes));
        if takes < entry.1 {
            *entry = (connection, takes);
        }
    }
    let case = |(peer, (connection, takes)): (&str, (&Connection, u32))| {
        let Connection { pmtu, snd_mss, advmss, .. } = connection;
        let value = format!("pmtu {pmtu}, mss {snd_mss}, advmss {advmss}");
        Case::of(peer)
            .asked(format!("ss -tin dst {peer}"), value)
            .with("peer", peer)
            .with("mtu", takes)
    };
    Ok(smallest.into_iter().take(SHOWN).map(case).collect())
}
