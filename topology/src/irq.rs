//! The IRQs of a NIC: which they are, what they are called and where they may go.

use std::path::Path;

use crate::error::Error;
use crate::netdev::{self, Netdev};
use crate::nic::Irq;
use crate::queue_name::queue_of;
use crate::root::{self, Root};

/// The IRQs of `netdev` that have a handler, by number. Interfaces that share a PCI function share
/// its IRQs: one that names another of `all` is left to that one, one that names none is listed at
/// each of them.
pub(crate) fn read(root: &Root, netdev: &Netdev, all: &[Netdev]) -> Result<Vec<Irq>, Error> {
    let others: Vec<&str> = all
        .iter()
        .filter(|other| other.name != netdev.name && other.device == netdev.device)
        .map(|other| other.name.as_str())
        .collect();
    let mut irqs = Vec::new();
    for number in numbers(root, netdev)? {
        let Some(irq) = irq(root, number)? else { continue };
        if !others.iter().any(|other| mentions(&irq.name, other)) {
            irqs.push(irq);
        }
    }
    Ok(irqs)
}

/// The IRQ numbers of a NIC's device, ascending.
fn numbers(root: &Root, netdev: &Netdev) -> Result<Vec<u32>, Error> {
    let mut numbers = match (netdev::bus(&netdev.device)?.as_deref(), &netdev.pci) {
        (Some("pci" | "virtio"), Some(function)) => of_function(function)?,
        (Some("virtio"), None) => of_virtio_mmio(root, &netdev.device)?,
        // A USB NIC has its host controller's IRQ, an auxiliary device its parent's: not its own.
        _ => Vec::new(),
    };
    numbers.sort_unstable();
    Ok(numbers)
}

/// The message-signalled IRQs of a PCI function or, without any, its interrupt line.
fn of_function(function: &Path) -> Result<Vec<u32>, Error> {
    let messages: Vec<u32> = parse_all(root::names(&function.join("msi_irqs"))?);
    if !messages.is_empty() {
        return Ok(messages);
    }
    Ok(root::number(&function.join("irq"))?.filter(|&line| line != 0).into_iter().collect())
}

/// The IRQ of a virtio device without PCI (small virtual machines): found by its handler, which is
/// called like the device.
fn of_virtio_mmio(root: &Root, device: &Path) -> Result<Vec<u32>, Error> {
    let mut found = Vec::new();
    for number in parse_all(root::names(&root.path("sys/kernel/irq"))?) {
        if handlers(root, number)?.as_deref() == root::file_name(device) {
            found.push(number);
        }
    }
    Ok(found)
}

/// The names that are numbers.
fn parse_all(names: Vec<String>) -> Vec<u32> {
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// The handlers of an IRQ, comma-separated; `None` if nothing requested it.
fn handlers(root: &Root, number: u32) -> Result<Option<String>, Error> {
    root::text(&root.path(format!("sys/kernel/irq/{number}/actions")))
}

/// One IRQ; `None` if it has no handler, or was freed between two reads.
fn irq(root: &Root, number: u32) -> Result<Option<Irq>, Error> {
    let affinity_file = |name| root.path(format!("proc/irq/{number}/{name}"));
    let Some(name) = handlers(root, number)? else { return Ok(None) };
    let Some(affinity) = root::cpus(&affinity_file("smp_affinity_list"))? else { return Ok(None) };
    let effective = root::cpus(&affinity_file("effective_affinity_list"))?;
    Ok(Some(Irq { number, queue: queue_of(&name), name, affinity, effective }))
}

/// Whether an IRQ's name contains an interface's name as a word: "eth1" is in "ice-eth1-TxRx-0",
/// but not in "ice-eth10-TxRx-0".
fn mentions(irq: &str, interface: &str) -> bool {
    irq.match_indices(interface).any(|(start, _)| {
        let (before, after) = (&irq[..start], &irq[start + interface.len()..]);
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn an_interface_is_mentioned_as_a_word() {
        assert!(mentions("ice-eth1-TxRx-0", "eth1"));
        assert!(mentions("eth1", "eth1"));
        assert!(!mentions("ice-eth10-TxRx-0", "eth1"));
        assert!(!mentions("xeth1-rx-0", "eth1"));
        assert!(mentions("xeth1-eth1:rx-0", "eth1"));
    }
}
