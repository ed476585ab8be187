//! The NIC that carries the measured traffic.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use steer_ground::cpus::CpuList;
use steer_ground::tool;

/// The NIC and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nic {
    pub name: String,
    /// Its NUMA node.
    pub node: Option<usize>,
    /// CPUs local to it. They are unknown if the node is.
    pub cpus: Option<CpuList>,
}

impl Nic {
    /// Looks up a NIC.
    pub(super) fn look(name: &str) -> Result<Self> {
        let plain = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
        let path = Path::new("/sys/class/net").join(name);
        ensure!(plain && path.exists(), "--nic {name}: there is no such network device here");
        let read = |file: &str| fs::read_to_string(path.join(file)).ok();
        // A virtio device has no node itself; the PCI device above it has.
        for device in ["device", "device/.."] {
            let node =
                read(&format!("{device}/numa_node")).and_then(|node| node.trim().parse().ok());
            let cpus = read(&format!("{device}/local_cpulist")).and_then(|cpus| cpus.parse().ok());
            if let (Some(node), Some(cpus)) = (node, cpus) {
                return Ok(Self { name: name.to_owned(), node: Some(node), cpus: Some(cpus) });
            }
        }
        Ok(Self { name: name.to_owned(), node: None, cpus: None })
    }

    /// Whether the NIC has this address.
    pub(super) fn has(&self, address: IpAddr) -> Result<bool> {
        let mut ip = Command::new("ip");
        ip.args(["-o", "address", "show", "dev", &self.name]);
        let addresses = tool::output(&mut ip, "asking for the NIC's addresses")?;
        let start = format!("{address}/");
        Ok(addresses.split_whitespace().any(|word| word.starts_with(&start)))
    }

    /// Whether it reports that its link is down.
    pub(super) fn is_down(&self) -> bool {
        let path = Path::new("/sys/class/net").join(&self.name).join("operstate");
        fs::read_to_string(path)
            .is_ok_and(|state| matches!(state.trim(), "down" | "lowerlayerdown"))
    }
}
