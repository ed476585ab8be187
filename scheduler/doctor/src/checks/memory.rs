//! Memory: how it is divided among nodes and channels, nodes that are parts of a package, and pages
//! that the kernel moves between nodes.

use std::collections::{BTreeMap, BTreeSet};

use steer_topology::Node;

use super::smbios::{self, Slot};
use crate::case::{Case, Checked, Unchecked};
use crate::host::Host;
use crate::row::{Area, Row, Severity};

const BALANCING: &str = "proc/sys/kernel/numa_balancing";
const DMI: &str = "sys/firmware/dmi/tables/DMI";
/// A node that has less than this part of the largest one's memory is out of balance. Firmware and
/// the kernel take some of the first node's.
const BALANCE: f64 = 0.8;

pub(crate) const UNBALANCED: Row = Row {
    id: "memory-unbalanced",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Nodes with CPUs have unequal memory.",
    looks: "The memory of each node (/sys/devices/system/node/nodeN/meminfo): less than 80 % of the \
            largest.",
    why: "Threads of the poorer node soon use memory of the other one, and all its traffic crosses \
          the link between the nodes. Move memory modules so that all sockets have the same.",
    source: "RHEL 7.2 article, Memory Locality Effect",
    fix: "",
    undo: "",
    check: |host| {
        let nodes: Vec<&Node> = host.machine()?.nodes_with_cpus().collect();
        let memory = |node: &&Node| node.memory_bytes.unwrap_or(0);
        let most = nodes.iter().map(memory).max().unwrap_or(0);
        let poor = nodes.iter().any(|node| (memory(node) as f64) < BALANCE * most as f64);
        let saw = |case: Case, node: &&Node| {
            let path = format!("sys/devices/system/node/node{}/meminfo", node.id);
            case.saw(path, format!("{} MiB", memory(node) >> 20))
        };
        Ok((poor && most > 0).then(|| nodes.iter().fold(Case::host(), saw)).into_iter().collect())
    },
};

pub(crate) const CHANNELS: Row = Row {
    id: "memory-channels-empty",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Memory channels of a socket have no module.",
    looks: "The memory slots that the firmware lists (`dmidecode -t 17`; the kernel lets only root read \
            it): a channel all of whose slots are empty, on a socket that has memory.",
    why: "Copying packets is limited by the memory's bandwidth, and each empty channel takes its part \
          away. Put a module into each channel.",
    source: "RHEL 7.2 article, Memory Locality Effect",
    fix: "",
    undo: "",
    check: channels,
};

fn channels(host: &Host) -> Checked {
    let Some(table) = host.root.bytes(DMI)? else {
        return Err(Unchecked(format!("the firmware lists no memory slots (/{DMI} is absent)")));
    };
    let slots = smbios::slots(&table);
    if slots.is_empty() {
        return Err(Unchecked(format!("/{DMI} has no memory slots")));
    }
    let mut sockets: BTreeMap<String, BTreeMap<String, Vec<&Slot>>> = BTreeMap::new();
    for slot in &slots {
        let (socket, channel) = slot.place().ok_or_else(|| {
            let Slot { locator, bank, .. } = slot;
            Unchecked(format!(
                "the firmware's names of memory slots (\"{locator}\", \"{bank}\") do not say their \
                 channel; see the board's manual"
            ))
        })?;
        sockets.entry(socket).or_default().entry(channel).or_default().push(slot);
    }
    let empty = |slots: &Vec<&Slot>| slots.iter().all(|slot| !slot.filled);
    let mut found = Vec::new();
    for (socket, channels) in &sockets {
        let without: BTreeSet<&str> = channels
            .iter()
            .filter(|(_, slots)| empty(slots))
            .map(|(name, _)| name.as_str())
            .collect();
        // a socket without any memory is a finding of its own
        if !without.is_empty() && without.len() < channels.len() {
            let list = without.into_iter().collect::<Vec<_>>().join(", ");
            let value = format!("{} channels, empty: {list}", channels.len());
            found.push(Case::of(format!("socket {socket}")).saw(DMI, value));
        }
    }
    Ok(found)
}

pub(crate) const CLUSTERED: Row = Row {
    id: "sub-numa-clustering",
    area: Area::Host,
    severity: Severity::Note,
    title: "Packages are divided into several nodes (sub-NUMA clustering, NPS).",
    looks: "Nodes and packages (`scx_steer topology`): a package whose CPUs are on several nodes.",
    why: "The NIC hangs on one of these nodes, so the NIC-local CPUs are a part of the package only. \
          If long flows need more cores than that, set the firmware to one node per socket.",
    source: "docs/limits.md, Long flows stay on the NIC's node",
    fix: "",
    undo: "",
    check: |host| {
        let machine = host.machine()?;
        let nodes = |package: usize| -> BTreeSet<Option<u32>> {
            let of = machine.cpus.iter().filter(|cpu| cpu.package == Some(package));
            of.map(|cpu| cpu.node).collect()
        };
        let divided = (0..machine.packages.len()).find(|package| nodes(*package).len() > 1);
        let case = |package| {
            let value = format!("{} nodes in package {package}", nodes(package).len());
            Case::host().asked("scx_steer topology", value)
        };
        Ok(divided.map(case).into_iter().collect())
    },
};

pub(crate) const BALANCED: Row = Row {
    id: "numa-balancing-rests",
    area: Area::Host,
    severity: Severity::Note,
    title: "Automatic NUMA balancing is on; it rests while a sched_ext scheduler is loaded.",
    looks: "/proc/sys/kernel/numa_balancing: not 0, on a host with several nodes.",
    why: "The kernel moves pages to the node of the thread that uses them at the ticks of its own \
          scheduling class only. Under scx_steer, memory that a thread already has stays where it is \
          when the thread moves to the NIC's node. Bind the memory of programs for which that matters \
          to one node (`numactl --membind`, `cpuset.mems`).",
    source: "kernel/sched/fair.c, task_tick_fair(); docs/limits.md, Memory stays where it is",
    fix: "",
    undo: "",
    check: |host| {
        let setting = host.root.text(BALANCING)?.unwrap_or_default();
        let on = !["", "0"].contains(&setting.trim());
        let several = host.machine()?.nodes_with_cpus().count() > 1;
        Ok((on && several)
            .then(|| Case::host().saw(BALANCING, setting.trim()))
            .into_iter()
            .collect())
    },
};
