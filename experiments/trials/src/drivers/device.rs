//! The guest's network devices: found by their drivers, or made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use steer_ground::tool;

use crate::nic::place::{Kind, Place};

const CLASS: &str = "/sys/class/net";

/// A device to try, and what to call it.
pub(super) struct Device {
    pub(super) name: &'static str,
    pub(super) place: Place,
}

/// Devices of their own: NICs, and a veth pair.
pub(super) fn own() -> Result<Vec<Device>> {
    let mut devices = vec![Device { name: "virtio_net", place: Place::new("eth1", Kind::Virtio)? }];
    for name in ["e1000e", "igb"] {
        let place = Place::new(&interface_of(name)?, Kind::Other)?;
        place.link_up()?;
        devices.push(Device { name, place });
    }
    devices.push(Device { name: "veth", place: Place::new("v0", Kind::Veth)? });
    Ok(devices)
}

/// Devices that stand on others.
pub(super) fn stacked() -> Result<Vec<Device>> {
    let (igb, e1000e) = (interface_of("igb")?, interface_of("e1000e")?);
    let commands = [
        format!("link add link {igb} name vlan7 type vlan id 7"),
        "link add bond7 type bond".to_owned(),
        format!("link set {e1000e} down"),
        format!("link set {e1000e} master bond7"),
        "link add bridge7 type bridge".to_owned(),
        "link set v0-peer master bridge7".to_owned(),
        "link add bridge8 type bridge".to_owned(),
    ];
    for command in commands {
        let step = format!("ip {command}");
        tool::output(Command::new("ip").args(command.split(' ')), &step)?;
    }
    let stacked = [
        ("VLAN on igb", "vlan7"),
        ("bond of an e1000e", "bond7"),
        ("bridge with a veth", "bridge7"),
        ("bridge without ports", "bridge8"),
    ];
    let device = |(name, interface): (&'static str, &str)| {
        let place = Place::new(interface, Kind::Other)?;
        place.link_up()?;
        Ok(Device { name, place })
    };
    stacked.into_iter().map(device).collect()
}

/// The interface that this driver serves.
fn interface_of(driver: &str) -> Result<String> {
    let names = fs::read_dir(CLASS).context("listing interfaces")?.flatten();
    let serves = |path: &Path| {
        let link: PathBuf = fs::read_link(path.join("device/driver")).unwrap_or_default();
        link.file_name().is_some_and(|name| name == driver)
    };
    let mut found = names.filter(|entry| serves(&entry.path()));
    let entry = found.next().with_context(|| format!("{driver} has made no interface"))?;
    Ok(entry.file_name().to_string_lossy().into_owned())
}
