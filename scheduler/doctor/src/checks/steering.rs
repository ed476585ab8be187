//! RPS, RFS, aRFS, XPS and the number of queues.

use steer_nic::{IrqState, TxQueue};
use steer_topology::{CpuSet, Direction, QueueRef};

use crate::case::{Case, Checked, Unchecked, each};
use crate::checks::config::Config;
use crate::facts::NicFacts;
use crate::host::Host;
use crate::row::{Area, Row, Severity};

const SOCK_FLOWS: &str = "proc/sys/net/core/rps_sock_flow_entries";

pub(crate) const RPS_CROSSES: Row = Row {
    id: "rps-crosses-nodes",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Packets are handed on to CPUs of another node (RPS).",
    looks: "/sys/class/net/NIC/queues/rx-N/rps_cpus, and the NIC-local CPUs.",
    why: "Packets that lie in the cache near the NIC are processed on a CPU that cannot see that \
          cache. The million-client paper kept all processing on one socket because crossing slowed \
          it down.",
    source: "million-client paper, section 2; host-network-stack paper, section 3.1; \
             Documentation/networking/scaling.rst, RPS",
    fix: "echo {near} | sudo tee /sys/class/net/{nic}/queues/rx-{queue}/rps_cpus",
    undo: "echo {mask} | sudo tee /sys/class/net/{nic}/queues/rx-{queue}/rps_cpus",
    check: |host| {
        let several = host.has_several_nodes()?;
        let mut found = Vec::new();
        for nic in host.nics_up()? {
            let Some(local) = nic.state.local_cpus.as_ref().filter(|_| several) else { continue };
            for queue in &nic.state.rx {
                let Some(cpus) = queue.rps.as_ref().filter(|cpus| !cpus.is_subset(local)) else {
                    continue;
                };
                let path =
                    format!("sys/class/net/{}/queues/rx-{}/rps_cpus", nic.name(), queue.index);
                let case = Case::of(nic.name())
                    .saw(path, format!("{} (CPUs {cpus})", cpus.to_mask()))
                    .asked("scx_steer topology", format!("NIC-local {local}"))
                    .with("nic", nic.name())
                    .with("queue", queue.index)
                    .with("near", cpus.intersection(local).to_mask())
                    .with("mask", cpus.to_mask());
                found.push(case);
            }
        }
        Ok(found)
    },
};

pub(crate) const XPS_MISSING: Row = Row {
    id: "xps-missing",
    area: Area::Host,
    severity: Severity::Warning,
    title: "A NIC with several transmit queues chooses them by hash, not by CPU (no XPS).",
    looks: "/sys/class/net/NIC/queues/tx-N/xps_cpus: 0 in all queues.",
    why: "With XPS a thread sends by a queue whose completion is handled on its own CPU, or one near \
          it; without, CPUs share the queues and their locks.",
    source: "RHEL 7.2 article, Memory Locality Effect; Documentation/networking/scaling.rst, XPS",
    fix: "sudo scx_steer nic apply {nic} --mode align",
    undo: "sudo scx_steer nic restore",
    check: |host| {
        each(host.nics_up()?, |nic| {
            let sets: Vec<&CpuSet> = nic.state.tx.iter().filter_map(|tx| tx.xps.as_ref()).collect();
            let found = sets.len() > 1 && sets.iter().all(|cpus| cpus.is_empty());
            let path = format!("sys/class/net/{}/queues/tx-0/xps_cpus", nic.name());
            Ok(found.then(|| Case::of(nic.name()).saw(path, 0).with("nic", nic.name())))
        })
    },
};

pub(crate) const XPS_CROSSES: Row = Row {
    id: "xps-crosses-nodes",
    area: Area::Host,
    severity: Severity::Warning,
    title: "CPUs near the NIC send by a queue whose completions go to another node.",
    looks: "/sys/class/net/NIC/queues/tx-N/xps_cpus, and the CPUs that take the interrupt of the same \
            queue, on machines with several nodes. CPUs far from the NIC have to cross in any case.",
    why: "Another node cleans up what this one sent: buffers, lock and ring of the queue move between \
          the nodes' caches.",
    source: "RHEL 7.2 article, Memory Locality Effect; Documentation/networking/scaling.rst, XPS",
    fix: "sudo scx_steer nic apply {nic} --mode align",
    undo: "sudo scx_steer nic restore",
    check: |host| {
        let several = host.has_several_nodes()?;
        each(host.nics_up()?, |nic| {
            let Some(local) = nic.state.local_cpus.as_ref().filter(|_| several) else {
                return Ok(None);
            };
            let crosses = |queue: &&TxQueue| {
                let near = queue.xps.as_ref().is_some_and(|cpus| !cpus.is_disjoint(local));
                near && lands(completions(nic, queue.index))
                    .is_some_and(|cpus| cpus.is_disjoint(local))
            };
            let crossing = nic.state.tx.iter().find(crosses);
            Ok(crossing.map(|queue| saw_xps(nic, queue)))
        })
    },
};

/// The interrupt of a transmit queue.
fn completions(nic: &NicFacts, index: u32) -> Option<&IrqState> {
    let sends = |queue: &QueueRef| queue.index == index && queue.direction != Direction::Rx;
    nic.state.irqs.iter().find(|irq| irq.queue.as_ref().is_some_and(sends))
}

fn lands(irq: Option<&IrqState>) -> Option<&CpuSet> {
    irq.map(|irq| irq.effective.as_ref().unwrap_or(&irq.asked))
}

fn saw_xps(nic: &NicFacts, queue: &TxQueue) -> Case {
    let cpus = queue.xps.clone().unwrap_or_default();
    let path = format!("sys/class/net/{}/queues/tx-{}/xps_cpus", nic.name(), queue.index);
    let case = Case::of(nic.name())
        .saw(path, format!("{} (CPUs {cpus})", cpus.to_mask()))
        .with("nic", nic.name());
    match completions(nic, queue.index) {
        Some(irq) => case.saw(
            format!("proc/irq/{}/effective_affinity_list", irq.number),
            irq.effective.as_ref().unwrap_or(&irq.asked),
        ),
        None => case,
    }
}

pub(crate) const TOO_MANY_QUEUES: Row = Row {
    id: "more-queues-than-cpus",
    area: Area::Host,
    severity: Severity::Warning,
    title: "A NIC has more receive queues than there are CPUs.",
    looks: "The folders /sys/class/net/NIC/queues/rx-N, and the online CPUs.",
    why: "Several queues interrupt the same CPU, each with fewer packets at a time, and their rings \
          take more of the cache. More queues also mean fewer descriptors for each read over PCIe.",
    source: "Documentation/networking/scaling.rst, RSS; RHEL 7.2 article, Performance Data Ahead",
    fix: "sudo ethtool -L {nic} {kind} {cpus}",
    undo: "sudo ethtool -L {nic} {kind} {now}",
    check: |host| {
        let cpus = host.machine()?.cpus.len();
        each(host.nics_up()?, |nic| {
            let queues = nic.state.rx.len();
            let combined = nic.state.channels.is_none_or(|channels| channels.now.combined > 0);
            let case = || {
                Case::of(nic.name())
                    .saw(
                        format!("sys/class/net/{}/queues", nic.name()),
                        format!("{queues} receive"),
                    )
                    .saw("sys/devices/system/cpu/online", format!("{cpus} CPUs"))
                    .with("nic", nic.name())
                    .with("kind", if combined { "combined" } else { "rx" })
                    .with("cpus", cpus)
                    .with("now", queues)
            };
            Ok((queues > cpus).then(case))
        })
    },
};

pub(crate) const ARFS_HALF: Row = Row {
    id: "rfs-half-set-up",
    area: Area::Host,
    severity: Severity::Warning,
    title: "RFS is set up by half, so packets do not follow threads.",
    looks: "/proc/sys/net/core/rps_sock_flow_entries and /sys/class/net/NIC/queues/rx-N/rps_flow_cnt: \
            RFS, and aRFS with it, needs both above 0.",
    why: "The kernel only notes where threads read if it has both tables. Without, packets go where \
          the hash sends them, and aRFS installs no filter.",
    source: "Documentation/networking/scaling.rst, RFS and accelerated RFS; host-network-stack paper, \
             section 2.1",
    fix: "sudo scx_steer nic apply {nic} --mode {mode}",
    undo: "sudo scx_steer nic restore",
    check: |host| {
        let table = sock_flows(host)?;
        each(host.nics_up()?, |nic| {
            let queues = queue_flows(nic);
            // a table of the host alone may be for another NIC
            let found = queues > 0 && table == 0;
            let mode = if takes_filters(nic) { "arfs" } else { "rfs" };
            let case = || saw_flows(nic, table).with("nic", nic.name()).with("mode", mode);
            Ok(found.then(case))
        })
    },
};

pub(crate) const ARFS_IDLE: Row = Row {
    id: "arfs-installs-no-filter",
    area: Area::Host,
    severity: Severity::Warning,
    title: "aRFS is on, but the NIC has no filter from it.",
    looks: "ntuple filters on (`ethtool -k`), both RFS tables above 0, and then CONFIG_RFS_ACCEL and \
            the driver's counters of aRFS filters (`ethtool -S`). Many drivers count none.",
    why: "aRFS brought the largest gain of all steering in the host-network-stack paper, because the \
          application copies from the cache of its own core. Without filters the NIC only hashes. \
          If the kernel lacks CONFIG_RFS_ACCEL, use RFS. Otherwise see the driver's messages (dmesg): \
          its table may be full or switched off.",
    source: "host-network-stack paper, section 3.1; Documentation/networking/scaling.rst, accelerated \
             RFS",
    fix: "sudo scx_steer nic apply {nic} --mode rfs",
    undo: "sudo scx_steer nic restore",
    check: arfs_idle,
};

fn arfs_idle(host: &Host) -> Checked {
    let table = sock_flows(host)?;
    let config = Config::of(host)?;
    let built = config.as_ref().map(|config| config.value("CONFIG_RFS_ACCEL").is_some());
    each(host.nics_up()?, |nic| {
        if table == 0 || queue_flows(nic) == 0 || !takes_filters(nic) {
            return Ok(None);
        }
        let case = saw_flows(nic, table).with("nic", nic.name());
        if let Some(config) = config.as_ref().filter(|_| built == Some(false)) {
            return Ok(Some(case.saw(&config.path, "CONFIG_RFS_ACCEL is not set")));
        }
        let added = |(name, count): (&String, &u64)| name.contains("add").then_some(*count);
        let counts: Vec<u64> = nic.arfs_counters.iter().filter_map(added).collect();
        if counts.is_empty() {
            let driver = nic.state.driver.as_deref().unwrap_or("its");
            let name = nic.name();
            return Err(Unchecked(format!(
                "the driver of {name} ({driver}) does not count the filters of aRFS; see whether \
                 `scx_steer observe` shows copies on home CPUs"
            )));
        }
        let case = case.asked(format!("ethtool -S {}", nic.name()), "0 aRFS filters added");
        Ok(counts.iter().all(|count| *count == 0).then_some(case))
    })
}

fn sock_flows(host: &Host) -> Result<u64, Unchecked> {
    Ok(host.root.value(SOCK_FLOWS)?.unwrap_or(0))
}

fn queue_flows(nic: &NicFacts) -> u64 {
    nic.state.rx.iter().filter_map(|queue| queue.rfs_flows).max().unwrap_or(0)
}

fn takes_filters(nic: &NicFacts) -> bool {
    nic.state.ntuple.is_some_and(|feature| feature.on)
}

fn saw_flows(nic: &NicFacts, table: u64) -> Case {
    let queues = format!("sys/class/net/{}/queues/rx-0/rps_flow_cnt", nic.name());
    Case::of(nic.name()).saw(SOCK_FLOWS, table).saw(queues, queue_flows(nic))
}
