//! The IRQs of a NIC: their numbers, names and affinities.

use std::path::Path;

use crate::error::Error;
use crate::napi::{self, Napi};
use crate::netdev::{self, Netdev};
use crate::nic::{Direction, Irq, QueueRef};
use crate::queue_name::queue_of;
use crate::root::{self, Root};

/// The IRQs of `netdev` that have a handler, by number. Interfaces on one PCI function share its
/// IRQs. An IRQ that names another interface of `all` belongs to that one. An IRQ that names none
/// is listed at each of them.
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

/// The IRQs of an interface as they are now, by number. Empty for one without a device.
///
/// # Errors
/// sysfs, procfs or the kernel's answer cannot be read.
pub fn irqs_of(interface: &str) -> Result<Vec<Irq>, Error> {
    let root = Root::system();
    let all = netdev::netdevs(&root)?;
    let Some(netdev) = all.iter().find(|netdev| netdev.name == interface) else {
        return Ok(Vec::new());
    };
    let ifindex = root::number(&root.path(format!("sys/class/net/{interface}/ifindex")))?;
    let mut irqs = read(&root, netdev, &all)?;
    ask_queues([(ifindex, &mut irqs)])?;
    Ok(irqs)
}

/// Corrects the queues of these interfaces' IRQs with what the kernel says. Names say nothing if
/// the driver's pattern is unknown, and some patterns are ambiguous.
pub(crate) fn ask_queues<'a>(
    nics: impl IntoIterator<Item = (Option<u32>, &'a mut Vec<Irq>)>,
) -> Result<(), Error> {
    let (Some(napis), Some(queues)) = (napi::napis()?, napi::queues()?) else { return Ok(()) };
    for (ifindex, irqs) in nics {
        for irq in irqs {
            let of_irq =
                |napi: &&Napi| napi.irq == Some(irq.number) && Some(napi.ifindex) == ifindex;
            let Some(napi) = napis.iter().find(of_irq) else { continue };
            let polled = queues.iter().filter(|polled| polled.napi == napi.id);
            let served: Vec<QueueRef> = polled.map(|polled| polled.queue).collect();
            irq.queue = one_of(&served).or(irq.queue);
        }
    }
    Ok(())
}

/// These queues as one value, if they are one queue, or the pair of queues of one number.
fn one_of(served: &[QueueRef]) -> Option<QueueRef> {
    match *served {
        [only] => Some(only),
        [one, other] if one.index == other.index && one.direction != other.direction => {
            Some(QueueRef { direction: Direction::Both, index: one.index })
        }
        _ => None,
    }
}

/// The IRQ numbers of a NIC's device, ascending.
fn numbers(root: &Root, netdev: &Netdev) -> Result<Vec<u32>, Error> {
    let mut numbers = match (netdev::bus(&netdev.device)?.as_deref(), &netdev.pci) {
        (Some("pci" | "virtio"), Some(function)) => of_function(function)?,
        // NICs of a system on a chip, such as stmmac's "end0:rx-0", and virtio without PCI
        (Some("virtio" | "platform"), None) => {
            let device = root::file_name(&netdev.device);
            handled(root, |by| Some(by) == device || mentions(by, &netdev.name))?
        }
        // A USB NIC uses the IRQ of its host controller, an auxiliary device that of its parent:
        // neither is its own.
        _ => Vec::new(),
    };
    numbers.sort_unstable();
    Ok(numbers)
}

/// The message-signalled IRQs of a PCI function, or its interrupt line if it has none.
fn of_function(function: &Path) -> Result<Vec<u32>, Error> {
    let messages: Vec<u32> = parse_all(root::names(&function.join("msi_irqs"))?);
    if !messages.is_empty() {
        return Ok(messages);
    }
    Ok(root::number(&function.join("irq"))?.filter(|&line| line != 0).into_iter().collect())
}

/// The IRQs whose handlers have such a name.
fn handled(root: &Root, by: impl Fn(&str) -> bool) -> Result<Vec<u32>, Error> {
    let mut found = Vec::new();
    for number in parse_all(root::names(&root.path("sys/kernel/irq"))?) {
        if handlers(root, number)?.as_deref().is_some_and(&by) {
            found.push(number);
        }
    }
    Ok(found)
}

/// The names that are numbers.
fn parse_all(names: Vec<String>) -> Vec<u32> {
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// The handlers of an IRQ, comma-separated; `None` if it has no handler.
fn handlers(root: &Root, number: u32) -> Result<Option<String>, Error> {
    root::text(&root.path(format!("sys/kernel/irq/{number}/actions")))
}

/// Reads one IRQ. `None` if it has no handler, or was freed between two reads.
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
    use super::{mentions, one_of};
    use crate::nic::{Direction, QueueRef};

    #[test]
    fn a_context_serves_a_queue_or_a_pair() {
        let queue = |direction, index| QueueRef { direction, index };
        let (rx, tx) = (queue(Direction::Rx, 3), queue(Direction::Tx, 3));
        assert_eq!(one_of(&[rx]), Some(rx));
        assert_eq!(one_of(&[rx, tx]), Some(queue(Direction::Both, 3)));
        assert_eq!(one_of(&[rx, queue(Direction::Tx, 4)]), None);
        assert_eq!(one_of(&[rx, rx]), None);
        assert_eq!(one_of(&[]), None);
    }

    #[test]
    fn an_interface_is_mentioned_as_a_word() {
        assert!(mentions("ice-eth1-TxRx-0", "eth1"));
        assert!(mentions("eth1", "eth1"));
        assert!(!mentions("ice-eth10-TxRx-0", "eth1"));
        assert!(!mentions("xeth1-rx-0", "eth1"));
        assert!(mentions("xeth1-eth1:rx-0", "eth1"));
    }
}
