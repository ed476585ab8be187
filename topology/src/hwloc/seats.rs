//! Finds the NICs among hwloc's devices, and the part of the machine around each.

use hwlocality::Topology;
use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::{OSDeviceType, ObjectType};

use super::plain::{cpus_of, plain};
use crate::cpuset::CpuSet;

/// Where a NIC sits, as hwloc sees it.
#[derive(Debug)]
pub(crate) struct Seat {
    /// Interface name.
    pub(crate) name: String,
    /// Hardware address.
    pub(crate) mac: Option<String>,
    /// Address of its PCI function.
    pub(crate) pci: Option<String>,
    /// The CPUs of the smallest part of the machine around it. `None` if that part is the whole
    /// machine, because hwloc also reports that for a device whose place it does not know.
    pub(crate) cpus: Option<CpuSet>,
}

/// The NICs that hwloc sees.
pub(super) fn seats(topology: &Topology, online: &CpuSet) -> Vec<Seat> {
    topology
        .objects_with_type(ObjectType::OSDevice)
        .filter(|object| is_network(object))
        .filter_map(|object| {
            let around = object.first_non_io_ancestor();
            let around = around.filter(|around| around.object_type() != ObjectType::Machine);
            Some(Seat {
                name: plain(object.name()?),
                mac: object.info("Address").map(plain),
                pci: object.ancestors().find_map(pci_address),
                cpus: around.map(|around| cpus_of(around, online)),
            })
        })
        .collect()
}

fn is_network(object: &TopologyObject) -> bool {
    matches!(
        object.attributes(),
        Some(ObjectAttributes::OSDevice(device)) if device.device_type() == OSDeviceType::Network
    )
}

/// The address of a PCI function as sysfs writes it.
fn pci_address(object: &TopologyObject) -> Option<String> {
    let Some(ObjectAttributes::PCIDevice(pci)) = object.attributes() else { return None };
    let (domain, bus, device, function) =
        (pci.domain(), pci.bus_id(), pci.bus_device(), pci.function());
    Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}
