//! What the lab has to know of a guest's machine: where its NIC hangs, and what its queues
//! interrupt. Read from the guest's sysfs and procfs.

use anyhow::{Context, Result, ensure};

use crate::guest::Link;

/// The NIC of a guest; there is one.
pub(crate) const NIC: &str = "eth0";

/// A guest's NUMA nodes and NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    /// CPUs of each NUMA node.
    pub(crate) nodes: Vec<Vec<usize>>,
    /// The NIC's node.
    pub(crate) nic_node: usize,
    /// CPUs of that node.
    pub(crate) nic_cpus: Vec<usize>,
    /// IRQs of the NIC's queues, receive and transmit.
    pub(crate) queue_irqs: Vec<QueueIrq>,
    /// Transmit queues.
    pub(crate) tx_queues: usize,
}

/// The IRQ of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueIrq {
    /// Number of the IRQ.
    pub(crate) irq: u32,
    /// Number of the queue pair.
    pub(crate) queue: usize,
}

impl QueueIrq {
    /// The file that says which CPUs may take it.
    pub(crate) fn affinity_path(self) -> String {
        format!("/proc/irq/{}/smp_affinity_list", self.irq)
    }
}

impl Facts {
    /// Reads them.
    ///
    /// # Errors
    /// When the guest's NIC is missing or has no NUMA node: then the lab is built wrongly.
    pub(crate) fn read(link: &mut Link) -> Result<Self> {
        let nodes = nodes(link)?;
        // The virtio device itself has no node; the PCI device above it has.
        let nic_node = link.read(&format!("/sys/class/net/{NIC}/device/../numa_node"))?;
        let nic_node: usize =
            nic_node.parse().with_context(|| format!("the guest's NIC is on node {nic_node}"))?;
        let nic_cpus = nodes.get(nic_node).context("the NIC's node has no CPUs")?.clone();
        let queue_irqs = queue_irqs(&link.read("/proc/interrupts")?);
        let queues = link.list(&format!("/sys/class/net/{NIC}/queues"))?;
        let tx_queues = queues.iter().filter(|name| name.starts_with("tx-")).count();
        ensure!(!queue_irqs.is_empty(), "the guest's NIC has no queue IRQs");
        Ok(Self { nodes, nic_node, nic_cpus, queue_irqs, tx_queues })
    }

    /// The file with the XPS mask of each transmit queue.
    pub(crate) fn xps_paths(&self) -> impl Iterator<Item = String> {
        (0..self.tx_queues).map(|queue| format!("/sys/class/net/{NIC}/queues/tx-{queue}/xps_cpus"))
    }

    /// CPUs that are not on the NIC's node.
    pub(crate) fn remote_cpus(&self) -> Vec<usize> {
        let remote = self.nodes.iter().enumerate().filter(|(node, _)| *node != self.nic_node);
        remote.flat_map(|(_, cpus)| cpus.iter().copied()).collect()
    }
}

/// CPUs of each NUMA node of a machine.
///
/// # Errors
/// When its sysfs does not tell, or one has no CPUs.
pub(crate) fn nodes(link: &mut Link) -> Result<Vec<Vec<usize>>> {
    Ok(numbered_nodes(link)?.into_iter().map(|(_, cpus)| cpus).collect())
}

/// The same with the nodes' numbers, which may have gaps.
///
/// # Errors
/// As [`nodes`].
pub(crate) fn numbered_nodes(link: &mut Link) -> Result<Vec<(usize, Vec<usize>)>> {
    let nodes = cpu_list(&link.read("/sys/devices/system/node/has_cpu")?)?;
    let cpus = |node| {
        let cpus = link.read(&format!("/sys/devices/system/node/node{node}/cpulist"))?;
        Ok((node, cpu_list(&cpus)?))
    };
    nodes.into_iter().map(cpus).collect()
}

/// How the IOMMU treats a NIC's memory accesses: the type of the NIC's group, `none` where it is in
/// none; `None` where it is no PCI device. Whether it writes into a cache (DCA, DDIO) is no setting
/// that Linux shows.
pub(crate) fn iommu(link: &mut Link, nic: &str) -> Option<String> {
    /// A USB NIC is this deep below its PCI device at most, or stays unknown.
    const DEEPEST: usize = 8;
    // The device itself, or what it hangs on: a virtio device is in no group, its PCI device is.
    for above in 0..DEEPEST {
        let device = format!("/sys/class/net/{nic}/device{}", "/..".repeat(above));
        let names = link.list(&device).ok()?;
        let has = |name: &str| names.iter().any(|it| it == name);
        if has("iommu_group") {
            return link.read(&format!("{device}/iommu_group/type")).ok();
        }
        // the configuration space, which PCI devices alone have
        if has("config") {
            return Some("none".to_owned());
        }
    }
    None
}

/// CPUs as programs take them: `2,3`.
pub(crate) fn joined(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Reads a kernel list such as `0-1,4`.
fn cpu_list(text: &str) -> Result<Vec<usize>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse::<usize>().ok()?)
    };
    let ranges: Option<Vec<_>> = text.trim().split(',').map(range).collect();
    let ranges = ranges.with_context(|| format!("{text:?} is no list of numbers"))?;
    Ok(ranges.into_iter().flatten().collect())
}

/// Numbers and names of the IRQs in /proc/interrupts:
/// `26: 0 1 PCI-MSIX-0000:81:00.0 1-edge virtio0-input.0`.
pub(crate) fn named_irqs(interrupts: &str) -> impl Iterator<Item = (u32, &str)> {
    interrupts.lines().filter_map(|line| {
        let irq = line.split_once(':')?.0.trim().parse().ok()?;
        Some((irq, line.split_whitespace().last()?))
    })
}

/// The IRQs of a virtio NIC's queues.
fn queue_irqs(interrupts: &str) -> Vec<QueueIrq> {
    let queue = |(irq, name): (u32, &str)| {
        let queue = name.split_once("-input.").or(name.split_once("-output."))?.1;
        Some(QueueIrq { irq, queue: queue.parse().ok()? })
    };
    named_irqs(interrupts).filter_map(queue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kernel_lists() {
        assert_eq!(cpu_list("0-1,4\n").unwrap(), [0, 1, 4]);
        assert!(cpu_list("").is_err() && cpu_list("a-b").is_err());
        assert_eq!(joined(&[0, 1, 4]), "0,1,4");
    }

    #[test]
    fn finds_the_irqs_of_queues_and_nothing_else() {
        let interrupts = "           CPU0       CPU1\n\
            \u{20} 4:          9          0   IO-APIC   4-edge      ttyS0\n\
            \u{20}25:          0          0 PCI-MSIX-0000:81:00.0   0-edge      virtio0-config\n\
            \u{20}26:          0          1 PCI-MSIX-0000:81:00.0   1-edge      virtio0-input.0\n\
            \u{20}29:          2          0 PCI-MSIX-0000:81:00.0   4-edge      virtio0-output.1\n\
            NMI:          0          0   Non-maskable interrupts\n";
        let expected = [QueueIrq { irq: 26, queue: 0 }, QueueIrq { irq: 29, queue: 1 }];
        assert_eq!(queue_irqs(interrupts), expected);
    }
}
