//! What the lab must know about a guest's machine: the nodes of its NICs, and the IRQs of their
//! queues. Read from the guest's sysfs and procfs.

use std::collections::BTreeSet;

use anyhow::{Context, Error, Result, ensure};
use steer_ground::cpus::CpuList;

use super::net::Net;
use crate::agent::Link;

/// A guest's NUMA nodes and NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// CPUs of each NUMA node.
    pub nodes: Vec<Vec<usize>>,
    /// Its NICs, in the order of their cables; at least one.
    pub nics: Vec<Nic>,
}

/// A NIC of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Its name.
    pub name: String,
    /// Its node.
    pub node: usize,
    /// CPUs of that node.
    pub cpus: Vec<usize>,
    /// IRQs of its queues, receive and transmit.
    pub queue_irqs: Vec<QueueIrq>,
    /// Transmit queues.
    pub tx_queues: usize,
}

/// The IRQ of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueIrq {
    /// Number of the IRQ.
    pub irq: u32,
    /// Number of the queue pair.
    pub queue: usize,
}

impl Facts {
    /// Reads the facts.
    ///
    /// # Errors
    /// When a NIC of the guest is missing or has no NUMA node: the lab was set up wrongly.
    pub fn read(link: &mut Link, net: &Net) -> Result<Self> {
        let nodes = nodes(link)?;
        let nic = |cable| {
            let name = format!("eth{cable}");
            Nic::read(link, &name, &nodes).with_context(|| format!("looking at the NIC {name}"))
        };
        let nics = net.cables().map(nic).collect::<Result<_>>()?;
        Ok(Self { nodes, nics })
    }

    /// CPUs that are on a NIC's node.
    pub fn local_cpus(&self) -> Vec<usize> {
        self.nics.iter().flat_map(|nic| nic.cpus.iter().copied()).collect()
    }

    /// CPUs that are on no NIC's node.
    pub fn remote_cpus(&self) -> Vec<usize> {
        let local = self.local_cpus();
        self.nodes.iter().flatten().copied().filter(|cpu| !local.contains(cpu)).collect()
    }
}

impl Nic {
    fn read(link: &mut Link, name: &str, nodes: &[Vec<usize>]) -> Result<Self> {
        let node = node_of(link, name)?;
        let cpus = nodes.get(node).context("its node has no CPUs")?.clone();
        let irqs = device_irqs(link, name);
        let queue_irqs = queue_irqs(&link.read("/proc/interrupts")?, &irqs);
        let tx_queues = queue_folders(link, name, "tx-")?.len();
        ensure!(!queue_irqs.is_empty(), "it has no queue IRQs");
        Ok(Self { name: name.to_owned(), node, cpus, queue_irqs, tx_queues })
    }

    /// The file with the XPS mask of each transmit queue.
    pub(crate) fn xps_paths(&self) -> impl Iterator<Item = String> {
        (0..self.tx_queues).map(|queue| xps_path(&self.name, queue))
    }
}

/// The file with the CPUs that may handle an IRQ.
pub fn affinity_path(irq: u32) -> String {
    format!("/proc/irq/{irq}/smp_affinity_list")
}

/// The file with the XPS mask of a transmit queue.
pub fn xps_path(nic: &str, queue: usize) -> String {
    format!("/sys/class/net/{nic}/queues/tx-{queue}/xps_cpus")
}

/// Folders of a NIC's queues of one `kind`, `rx-` or `tx-`.
pub fn queue_folders(link: &mut Link, nic: &str, kind: &str) -> Result<Vec<String>> {
    let folder = format!("/sys/class/net/{nic}/queues");
    let names = link.list(&folder)?.into_iter().filter(|name| name.starts_with(kind));
    Ok(names.map(|name| format!("{folder}/{name}")).collect())
}

/// The NUMA node of a guest's NIC.
///
/// # Errors
/// When it has no node.
pub fn node_of(link: &mut Link, nic: &str) -> Result<usize> {
    // The virtio device itself has no node, but the PCI device above it has one.
    let node = link.read(&format!("/sys/class/net/{nic}/device/../numa_node"))?;
    node.parse().with_context(|| format!("it is on node {node}"))
}

/// The IRQs of a NIC; empty if it has no IRQs of its own.
pub fn device_irqs(link: &mut Link, nic: &str) -> BTreeSet<u32> {
    let device = format!("/sys/class/net/{nic}/device");
    // A virtio device has no interrupts itself, but the PCI device above it has.
    let irqs = [&device, &format!("{device}/..")]
        .iter()
        .find_map(|device| link.list(&format!("{device}/msi_irqs")).ok());
    irqs.iter().flatten().filter_map(|name| name.parse().ok()).collect()
}

/// CPUs of each NUMA node of a machine.
///
/// # Errors
/// When its sysfs does not tell, or when a node has no CPUs.
pub fn nodes(link: &mut Link) -> Result<Vec<Vec<usize>>> {
    Ok(numbered_nodes(link)?.into_iter().map(|(_, cpus)| cpus).collect())
}

/// As [`nodes`], with the numbers of the nodes. These may have gaps.
///
/// # Errors
/// As [`nodes`].
pub fn numbered_nodes(link: &mut Link) -> Result<Vec<(usize, Vec<usize>)>> {
    let nodes = cpu_list(&link.read("/sys/devices/system/node/has_cpu")?)?;
    let cpus = |node| {
        let cpus = link.read(&format!("/sys/devices/system/node/node{node}/cpulist"))?;
        Ok((node, cpu_list(&cpus)?))
    };
    nodes.into_iter().map(cpus).collect()
}

/// How the IOMMU treats a NIC's memory accesses: the type of the NIC's group, or `none` if it is in
/// no group. `None` if it is not a PCI device. Linux does not show whether the NIC writes into a
/// cache (DCA, DDIO).
pub fn iommu(link: &mut Link, nic: &str) -> Option<String> {
    /// A USB NIC is at most this deep below its PCI device. A deeper one stays unknown.
    const DEEPEST: usize = 8;
    // Try the device and its parents: a virtio device is in no group, but its PCI device is.
    for above in 0..DEEPEST {
        let device = format!("/sys/class/net/{nic}/device{}", "/..".repeat(above));
        let names = link.list(&device).ok()?;
        let has = |name: &str| names.iter().any(|it| it == name);
        if has("iommu_group") {
            return link.read(&format!("{device}/iommu_group/type")).ok();
        }
        // the configuration space: only PCI devices have one
        if has("config") {
            return Some("none".to_owned());
        }
    }
    None
}

/// Reads a kernel list such as `0-1,4`.
fn cpu_list(text: &str) -> Result<Vec<usize>> {
    let list: CpuList = text.parse().map_err(Error::msg)?;
    Ok(list.iter().collect())
}

/// Numbers and names of the IRQs in /proc/interrupts:
/// `26: 0 1 PCI-MSIX-0000:81:00.0 1-edge virtio0-input.0`.
pub fn named_irqs(interrupts: &str) -> impl Iterator<Item = (u32, &str)> {
    interrupts.lines().filter_map(|line| {
        let irq = line.split_once(':')?.0.trim().parse().ok()?;
        Some((irq, line.split_whitespace().last()?))
    })
}

/// The IRQs of a virtio NIC's queues, among its `own`.
fn queue_irqs(interrupts: &str, own: &BTreeSet<u32>) -> Vec<QueueIrq> {
    let queue = |(irq, name): (u32, &str)| {
        let queue = name.split_once("-input.").or(name.split_once("-output."))?.1;
        Some(QueueIrq { irq, queue: queue.parse().ok()? })
    };
    named_irqs(interrupts).filter(|(irq, _)| own.contains(irq)).filter_map(queue).collect()
}

#[cfg(test)]
impl Facts {
    /// Two nodes with two CPUs each, and NICs with three queue IRQs each on some of them.
    pub(crate) fn example(nic_nodes: std::ops::Range<usize>) -> Self {
        let nodes = vec![vec![0, 1], vec![2, 3]];
        let nic = |(number, node): (u32, usize)| Nic {
            name: format!("eth{number}"),
            node,
            cpus: nodes[node].clone(),
            queue_irqs: (0..3)
                .map(|queue| QueueIrq { irq: 20 + 10 * number + queue as u32, queue })
                .collect(),
            tx_queues: 1,
        };
        let nics = (0..).zip(nic_nodes).map(nic).collect();
        Self { nodes, nics }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steer_ground::cpus::joined;

    #[test]
    fn reads_kernel_lists() {
        assert_eq!(cpu_list("0-1,4\n").unwrap(), [0, 1, 4]);
        assert!(cpu_list("").is_err() && cpu_list("a-b").is_err());
        assert_eq!(joined(&[0, 1, 4]), "0,1,4");
    }

    #[test]
    fn finds_the_irqs_of_a_nics_queues_and_nothing_else() {
        let interrupts = "           CPU0       CPU1\n\
            \u{20} 4:          9          0   IO-APIC   4-edge      ttyS0\n\
            \u{20}25:          0          0 PCI-MSIX-0000:81:00.0   0-edge      virtio0-config\n\
            \u{20}26:          0          1 PCI-MSIX-0000:81:00.0   1-edge      virtio0-input.0\n\
            \u{20}29:          2          0 PCI-MSIX-0000:81:00.0   4-edge      virtio0-output.1\n\
            \u{20}31:          2          0 PCI-MSIX-0000:83:00.0   1-edge      virtio1-input.0\n\
            NMI:          0          0   Non-maskable interrupts\n";
        let expected = [QueueIrq { irq: 26, queue: 0 }, QueueIrq { irq: 29, queue: 1 }];
        assert_eq!(queue_irqs(interrupts, &(25..31).collect()), expected);
        assert_eq!(queue_irqs(interrupts, &[31].into()), [QueueIrq { irq: 31, queue: 0 }]);
    }
}
