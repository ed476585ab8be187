//! The NIC's slot and the way its DMA takes.

use crate::case::{Case, each};
use crate::facts::NicFacts;
use crate::row::{Area, Row, Severity};

pub(crate) const UNKNOWN_NODE: Row = Row {
    id: "nic-node-unknown",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Nobody says which node a NIC hangs on.",
    looks: "/sys/class/net/NIC/device/numa_node (-1 is unknown) and hwloc's view, on machines with \
            several nodes.",
    why: "scx_steer and the driver cannot tell near cores from far ones, so they treat all alike. The \
          firmware (ACPI _PXM or the virtual machine's definition) should say it. Until it does, tell \
          hwloc and with it scx_steer: set HWLOC_PCI_LOCALITY, see hwloc(7).",
    source: "RHEL 7.2 article, Memory Locality Effect; \
             Documentation/ABI/testing/sysfs-bus-pci, numa_node",
    fix: "",
    undo: "",
    check: |host| {
        let several = host.has_several_nodes()?;
        each(host.nics_up()?, |nic| {
            let found = several && nic.state.local_cpus.is_none();
            let path = format!("sys/class/net/{}/device/numa_node", nic.name());
            let value = host.root.text(&path)?.unwrap_or_else(|| "absent".into());
            Ok(found.then(|| Case::of(nic.name()).saw(path, value)))
        })
    },
};

pub(crate) const LANES: Row = Row {
    id: "pcie-link-below-its-best",
    area: Area::Host,
    severity: Severity::Warning,
    title: "A NIC's PCIe link is narrower or slower than the NIC can.",
    looks: "current_link_width, max_link_width, current_link_speed and max_link_speed in \
            /sys/bus/pci/devices/ADDRESS.",
    why: "The slot has fewer lanes or an older generation, or the card is not seated well: at high \
          rates the link becomes the bottleneck, as in the RHEL 7.2 article's routing tests. Put the \
          card into another slot; `lspci -vv` shows both ends of the link.",
    source: "RHEL 7.2 article, How the FIB Can Hurt Performance (the limit of the PCIe bandwidth)",
    fix: "",
    undo: "",
    check: |host| {
        each(host.nics()?, |nic| {
            let Some(folder) = folder(nic) else { return Ok(None) };
            let mut case = Case::of(nic.name());
            for kind in ["width", "speed"] {
                let file = |end: &str| format!("{folder}/{end}_link_{kind}");
                let (now, most) = (file("current"), file("max"));
                let texts = (host.root.text(&now)?, host.root.text(&most)?);
                if let (Some(has), Some(can)) = texts
                    && let (Some(a), Some(b)) = (leading(&has), leading(&can))
                    && a < b
                {
                    case = case.saw(now, has).saw(most, can);
                }
            }
            Ok((!case.evidence.is_empty()).then_some(case))
        })
    },
};

pub(crate) const IOMMU: Row = Row {
    id: "iommu-strict",
    area: Area::Host,
    severity: Severity::Warning,
    title: "The IOMMU flushes its translations at each unmap of a NIC's buffers.",
    looks: "/sys/bus/pci/devices/ADDRESS/iommu_group/type: DMA is strict, DMA-FQ is batched, identity \
            is none.",
    why: "With an IOMMU the host-network-stack paper saw 26 % less throughput per core. Batched \
          flushes (DMA-FQ) leave a device a few milliseconds more access to a buffer. With trusted \
          devices, `iommu=pt` on the kernel's command line takes the translation away altogether.",
    source: "host-network-stack paper, section 3.9; RHEL 7.2 article, DMA Delay; \
             Documentation/ABI/testing/sysfs-kernel-iommu_groups",
    fix: "echo DMA-FQ | sudo tee /{file}",
    undo: "# the next boot has the old mode; it cannot be set back while the driver uses the device",
    check: |host| {
        each(host.nics_up()?, |nic| {
            let Some(folder) = folder(nic) else { return Ok(None) };
            let file = format!("{folder}/iommu_group/type");
            let strict = host.root.text(&file)?.is_some_and(|mode| mode == "DMA");
            Ok(strict.then(|| Case::of(nic.name()).saw(&file, "DMA").with("file", &file)))
        })
    },
};

/// The folder of a NIC's PCI function.
fn folder(nic: &NicFacts) -> Option<String> {
    nic.state.device.pci.as_ref().map(|address| format!("sys/bus/pci/devices/{address}"))
}

/// The number at the start of a text, such as of "16.0 GT/s PCIe". `None` for "Unknown" and for 0,
/// which virtual devices have.
fn leading(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|number| *number > 0.0)
}
