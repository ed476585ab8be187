//! The NICs of the live machine. Their places come from hwloc, everything else from sysfs and
//! procfs. sysfs also decides which NICs exist, because hwloc leaves out some kinds of device.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::hwloc::Seat;
use crate::irq;
use crate::locality::Locality;
use crate::machine::Machine;
use crate::nic::{Nic, Queues};
use crate::root::{self, Root};

/// A network interface with a device behind it, and the device's place in sysfs.
#[derive(Debug)]
pub(crate) struct Netdev {
    /// Interface name.
    pub(crate) name: String,
    /// The interface's own directory.
    directory: PathBuf,
    /// The device the driver is bound to: a PCI function, or a virtio, USB, vmbus … device.
    pub(crate) device: PathBuf,
    /// The PCI function: the device itself or one above it.
    pub(crate) pci: Option<PathBuf>,
}

/// All NICs by interface name. `seats` are their places from hwloc.
pub(crate) fn read(root: &Root, machine: &Machine, seats: &[Seat]) -> Result<Vec<Nic>, Error> {
    let netdevs = netdevs(root)?;
    netdevs.iter().map(|netdev| nic(root, machine, seats, netdev, &netdevs)).collect()
}

/// The interfaces that have a device. Purely virtual ones (bond, veth, lo …) have no device link.
pub(crate) fn netdevs(root: &Root) -> Result<Vec<Netdev>, Error> {
    let class = root.path("sys/class/net");
    let mut netdevs = Vec::new();
    for name in root::names(&class)? {
        let directory = class.join(&name);
        if let Some(device) = root::target(&directory.join("device"))? {
            let pci = pci_function(&device)?;
            netdevs.push(Netdev { name, directory, device, pci });
        }
    }
    Ok(netdevs)
}

/// The nearest PCI function at or above a device: virtio and USB NICs are children of one.
fn pci_function(device: &Path) -> Result<Option<PathBuf>, Error> {
    for directory in device.ancestors() {
        if bus(directory)?.as_deref() == Some("pci") {
            return Ok(Some(directory.to_owned()));
        }
    }
    Ok(None)
}

/// The bus of a device, such as `pci` or `virtio`.
pub(crate) fn bus(device: &Path) -> Result<Option<String>, Error> {
    root::target_name(&device.join("subsystem"))
}

/// Reads one NIC. `all` tells apart the IRQs of interfaces that share a device.
fn nic(
    root: &Root,
    machine: &Machine,
    seats: &[Seat],
    netdev: &Netdev,
    all: &[Netdev],
) -> Result<Nic, Error> {
    let file = |name: &str| netdev.directory.join(name);
    let seat = seats.iter().find(|seat| seat.name == netdev.name);
    let place = Locality::of(
        machine,
        seat.and_then(|seat| seat.cpus.as_ref()),
        kernel_node(&netdev.device)?,
    );
    Ok(Nic {
        name: netdev.name.clone(),
        ifindex: root::number(&file("ifindex"))?,
        mac: root::text(&file("address"))?.filter(|mac| mac != "00:00:00:00:00:00"),
        pci: netdev.pci.as_deref().and_then(root::file_name).map(str::to_owned),
        driver: root::target_name(&netdev.device.join("driver"))?,
        node: place.node,
        local_cpus: place.cpus,
        speed_mbps: root::number(&file("speed"))?,
        operstate: root::text(&file("operstate"))?,
        queues: queues(&file("queues"))?,
        irqs: irq::read(root, netdev, all)?,
    })
}

/// The node that the kernel gives a device. Often only a parent has the number: a virtio device has
/// none, but the PCI function above it does.
fn kernel_node(device: &Path) -> Result<Option<u32>, Error> {
    for directory in device.ancestors() {
        if let Some(node) = root::number(&directory.join("numa_node"))? {
            return Ok(Some(node));
        }
    }
    Ok(None)
}

/// Counts the queues: one directory each, `rx-N` and `tx-N`.
fn queues(directory: &Path) -> Result<Option<Queues>, Error> {
    let names = root::names(directory)?;
    let count = |kind| names.iter().filter(|name| name.starts_with(kind)).count() as u32;
    Ok((!names.is_empty()).then(|| Queues { rx: count("rx-"), tx: count("tx-") }))
}

#[cfg(test)]
mod tests;
