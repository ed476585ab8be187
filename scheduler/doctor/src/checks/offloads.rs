//! Work that the NIC, or the kernel for many packets at once, could do.

use crate::case::{Case, each};
use crate::row::{Area, Row, Severity};

/// Names of the kernel for a feature, and ethtool's name to set it. One of the names has to be on.
const WANTED: [(&[&str], &str); 6] = [
    (&["tx-tcp-segmentation"], "tso"),
    (&["tx-generic-segmentation"], "gso"),
    (&["rx-gro"], "gro"),
    (&["rx-checksum"], "rx"),
    (&["tx-checksum-ip-generic", "tx-checksum-ipv4"], "tx"),
    (&["tx-scatter-gather"], "sg"),
];

pub(crate) const OFF: Row = Row {
    id: "offloads-off",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Offloads that a NIC has are switched off.",
    looks: "The features of the device (`ethtool -k`): TSO, GSO, GRO, checksums both ways, \
            scatter-gather. Features that cannot be switched on do not count.",
    why: "TSO and GRO make one large packet of many before the stack handles it: with the other \
          optimizations they are what lets one core move 42 Gb/s in the host-network-stack paper. \
          Without checksum offload the CPU reads all data once more. Some are switched off on purpose, \
          such as GRO on routers.",
    source: "host-network-stack paper, section 3.1; end-system paper, sections 2.2 and 4.1; \
             million-client paper, section 2",
    fix: "sudo ethtool -K {nic} {on}",
    undo: "sudo ethtool -K {nic} {off}",
    check: |host| {
        each(host.nics_up()?, |nic| {
            let off = |(names, _): &&(&[&str], &str)| {
                let known = || names.iter().filter_map(|name| nic.features.get(*name));
                !known().any(|feature| feature.on) && known().any(|feature| !feature.fixed)
            };
            let off: Vec<&str> = WANTED.iter().filter(off).map(|(_, name)| *name).collect();
            let all = |state: &str| {
                off.iter().map(|name| format!("{name} {state}")).collect::<Vec<_>>().join(" ")
            };
            let case = || {
                Case::of(nic.name())
                    .asked(format!("ethtool -k {}", nic.name()), all("off"))
                    .with("nic", nic.name())
                    .with("on", all("on"))
                    .with("off", all("off"))
            };
            Ok((!off.is_empty()).then(case))
        })
    },
};
