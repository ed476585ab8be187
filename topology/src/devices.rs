//! What identifies a packet's NIC: the network devices with the NICs below them, the NAPI contexts,
//! the routes. Reading these takes microseconds, while reading the whole machine takes many
//! milliseconds. So they also serve to notice a change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::Error;
use crate::napi;
use crate::root::{self, Root};
use crate::routes::{self, Route};

/// The network devices of the caller's network namespace at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkDevices {
    /// The devices, by interface number.
    pub interfaces: BTreeMap<u32, Interface>,
    /// Interface number by NAPI number. Empty before kernel 6.8, which cannot list them.
    pub napis: BTreeMap<u32, u32>,
    /// The smallest possible NAPI number; `None` if unknown.
    pub smallest_napi: Option<u32>,
    /// The routes; `None` if there are more than [`MAX_ROUTES`](crate::MAX_ROUTES).
    pub routes: Option<Vec<Route>>,
    /// The network namespace, as the inode number of its file. `None` if it has no file.
    pub namespace: Option<u32>,
}

/// A network device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Interface name, such as `bond0`.
    pub name: String,
    /// Names of the NICs below it: the device itself if it is a NIC, or the NICs below a bond,
    /// team, VLAN, bridge, macvlan or tunnel. Empty for a veth, tap, dummy and the loopback.
    pub nics: BTreeSet<String>,
}

impl NetworkDevices {
    /// Reads the present state.
    ///
    /// # Errors
    /// The kernel's list cannot be read.
    pub fn now() -> Result<Self, Error> {
        let root = Root::system();
        Ok(Self {
            interfaces: interfaces(&root)?,
            napis: napi::read()?,
            smallest_napi: napi::smallest(&root)?,
            routes: routes::read()?,
            namespace: root::inode(&root.path("proc/self/ns/net"))?,
        })
    }

    /// The numbers and names of the interfaces that are NICs.
    pub fn nics(&self) -> impl Iterator<Item = (u32, &str)> {
        let numbered = self.interfaces.iter();
        let nics = numbered.filter(|(_, interface)| interface.nics.contains(&interface.name));
        nics.map(|(&ifindex, interface)| (ifindex, interface.name.as_str()))
    }
}

fn interfaces(root: &Root) -> Result<BTreeMap<u32, Interface>, Error> {
    let class = root.path("sys/class/net");
    let mut interfaces = BTreeMap::new();
    for name in root::names(&class)? {
        // "bonding_masters" is a file here, and a device may disappear between two reads
        if let Some(ifindex) = root::number(&class.join(&name).join("ifindex"))? {
            let nics = nics_below(&class, &name)?;
            interfaces.insert(ifindex, Interface { name, nics });
        }
    }
    Ok(interfaces)
}

/// The NICs at the bottom of a stack of devices. Each device is visited once, so that links read
/// during a change cannot lead in circles.
fn nics_below(class: &Path, top: &str) -> Result<BTreeSet<String>, Error> {
    let mut nics = BTreeSet::new();
    let mut visited = BTreeSet::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(name) = waiting.pop() {
        let directory = class.join(&name);
        if !visited.insert(name.clone()) {
            continue;
        }
        if root::target(&directory.join("device"))?.is_some() {
            nics.insert(name);
            continue;
        }
        let entries = root::names(&directory)?;
        waiting.extend(entries.iter().filter_map(|e| e.strip_prefix("lower_")).map(str::to_owned));
    }
    Ok(nics)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nics(name: &str) -> Vec<String> {
        let class = Root::recorded("stacked-sysfs").path("sys/class/net");
        nics_below(&class, name).unwrap().into_iter().collect()
    }

    #[test]
    fn stacks_of_devices_end_at_nics() {
        assert_eq!(nics("eth0"), ["eth0"]);
        assert_eq!(nics("bond0"), ["eth0", "eth1"]);
        assert_eq!(nics("bond0.7"), ["eth0", "eth1"], "a VLAN over a bond");
        assert_eq!(nics("macvlan0"), ["eth1"]);
        assert_eq!(nics("br0"), ["eth0", "eth1"], "the veth in the bridge adds none");
        assert_eq!(nics("veth0"), [""; 0]);
        assert_eq!(nics("lo"), [""; 0]);
        assert_eq!(nics("left"), ["eth1"], "left and right stand on each other");
        assert_eq!(nics("gone"), [""; 0]);
    }

    #[test]
    fn interfaces_have_numbers() {
        let found = interfaces(&Root::recorded("stacked-sysfs")).unwrap();
        assert_eq!(found[&4].name, "bond0");
        assert!(found.values().all(|interface| interface.name != "bonding_masters"));
    }

    #[test]
    fn nics_are_told_from_what_stands_on_them() {
        let interfaces = interfaces(&Root::recorded("stacked-sysfs")).unwrap();
        let (napis, smallest_napi, routes, namespace) = (BTreeMap::new(), None, None, None);
        let devices = NetworkDevices { interfaces, napis, smallest_napi, routes, namespace };
        let names: Vec<_> = devices.nics().map(|(_, name)| name).collect();
        assert_eq!(names, ["eth0", "eth1"]);
    }

    #[test]
    fn this_host_has_a_loopback_device_without_a_nic() {
        let now = NetworkDevices::now().unwrap();
        assert_eq!(now.interfaces[&1], Interface { name: "lo".into(), nics: BTreeSet::new() });
        assert!(now.namespace.is_some() && now.smallest_napi.is_some());
        let own = now.routes.unwrap();
        assert!(own.iter().any(|route| route.destination.is_unspecified()
            || route.destination.to_ipv4_mapped().is_some()));
    }
}
