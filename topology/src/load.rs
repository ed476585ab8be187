//! Loads a [`Machine`]: the machine this runs on, or the one in an hwloc XML file.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::cpuset::CpuSet;
use crate::error::Error;
use crate::hwloc::{self, Described};
use crate::irq;
use crate::locality::Locality;
use crate::machine::{Machine, Source};
use crate::netdev;
use crate::nic::Nic;
use crate::root::{self, Root};

/// How often and how long to wait while CPUs come or go: the kernel switches SMT on and off one CPU
/// at a time.
const WAITS: u32 = 20;
const WAIT: Duration = Duration::from_millis(50);

impl Machine {
    /// Describes the machine this runs on, as it is now. CPUs, NICs and IRQ affinities change, so
    /// take a new description after hotplug. The description includes CPUs outside the caller's
    /// cpuset. It needs no privilege. It takes 12 ms on a machine of 2 CPUs, more on larger ones,
    /// and up to a second more while CPUs come or go. hwloc may print warnings about odd firmware
    /// on stderr.
    ///
    /// # Errors
    /// hwloc fails, or environment variables point it at another machine, or sysfs or procfs is
    /// not mounted or not readable.
    pub fn live() -> Result<Machine, Error> {
        let root = Root::system().mounted()?;
        for _ in 0..WAITS {
            match read(&root) {
                Err(Error::OtherCpus { .. }) => thread::sleep(WAIT),
                other => return other,
            }
        }
        read(&root)
    }

    /// Describes a machine from an hwloc XML file (`lstopo --of xml FILE`). Such a file has the
    /// places of NICs, but not their queues and IRQs.
    ///
    /// # Errors
    /// The file cannot be read, is not an hwloc 1 or 2 topology, or is damaged.
    pub fn from_xml(path: &Path) -> Result<Machine, Error> {
        let topology = hwloc::xml_file(path)?;
        placed(hwloc::describe(&topology, Source::Xml(path.to_owned()), None))
    }

    /// Makes up a machine for tests, as if read from the XML file that hwloc writes for
    /// `description` (see "Synthetic topologies" in hwloc(7)), with `nics` added. A NIC is a name
    /// and the part it is attached to, such as `("eth0", "Package", 1)` for the second package.
    ///
    /// # Errors
    /// hwloc does not understand the description, or there is no such part.
    #[cfg(feature = "testing")]
    pub fn synthetic(description: &str, nics: &[(&str, &str, usize)]) -> Result<Machine, Error> {
        let topology = hwloc::synthetic(description, nics)?;
        placed(hwloc::describe(&topology, Source::Xml(description.into()), None))
    }
}

/// Reads the machine this runs on. Fails if CPUs come or go meanwhile.
fn read(root: &Root) -> Result<Machine, Error> {
    let topology = hwloc::this_machine()?;
    let kernel_nodes = kernel_nodes(root)?;
    let Described { mut machine, seats } =
        hwloc::describe(&topology, Source::Live, kernel_nodes.as_ref());
    let described = machine.online_cpus();
    match root::cpus(&root.path("sys/devices/system/cpu/online"))? {
        Some(online) if online != described => return Err(Error::OtherCpus { described, online }),
        _ => {}
    }
    machine.nics = netdev::read(root, &machine, &seats)?;
    irq::ask_queues(machine.nics.iter_mut().map(|nic| (nic.ifindex, &mut nic.irqs)))?;
    machine.validate()?;
    Ok(machine)
}

/// A machine with its NICs, without any facts from the kernel.
fn placed(described: Described) -> Result<Machine, Error> {
    let Described { mut machine, seats } = described;
    machine.nics = seats.into_iter().map(|seat| nic(&machine, seat)).collect();
    machine.nics.sort_by(|left, right| left.name.cmp(&right.name));
    machine.validate()?;
    Ok(machine)
}

/// What hwloc alone knows about a NIC.
fn nic(machine: &Machine, seat: hwloc::Seat) -> Nic {
    let place = Locality::of(machine, seat.cpus.as_ref(), None);
    Nic {
        name: seat.name,
        ifindex: None,
        mac: seat.mac,
        pci: seat.pci,
        driver: None,
        node: place.node,
        local_cpus: place.cpus,
        speed_mbps: None,
        operstate: None,
        queues: None,
        irqs: Vec::new(),
    }
}

/// The CPUs of every node as the kernel sees them; `None` if it was built without NUMA.
fn kernel_nodes(root: &Root) -> Result<Option<BTreeMap<u32, CpuSet>>, Error> {
    let directory = root.path("sys/devices/system/node");
    let mut nodes = BTreeMap::new();
    for name in root::names(&directory)? {
        if let Some(id) = name.strip_prefix("node").and_then(|id| id.parse().ok()) {
            let cpus = root::cpus(&directory.join(&name).join("cpulist"))?;
            nodes.insert(id, cpus.unwrap_or_default());
        }
    }
    Ok((!nodes.is_empty()).then_some(nodes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_which_cpus_a_node_has() {
        let nodes = kernel_nodes(&Root::recorded("lab-sysfs")).unwrap().unwrap();
        let cpus: Vec<String> = nodes.values().map(CpuSet::to_string).collect();
        assert_eq!(cpus, ["0-1", "2-3"]);
        assert_eq!(kernel_nodes(&Root::recorded("no-such-tree")).unwrap(), None);
    }
}
