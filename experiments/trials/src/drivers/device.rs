//! The guest's network devices: found by their drivers, or made.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use steer_ground::tool;

use super::ports;
use crate::nic::place::{Kind, Place};

/// Simulated devices, there if their modules were given (experiments/lab/modules).
pub(super) const NICSIM: &str = "nicsim";
const NICSIM_DRIVER: &str = "/sys/bus/platform/drivers/nicsim";
const NETDEVSIM: &str = "/sys/bus/netdevsim";
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
    if Path::new(NICSIM_DRIVER).exists() {
        let interface = interface_of(NICSIM)?;
        ports::connect(&interface)?;
        let place = Place::new(&interface, Kind::Other)?;
        place.link_up()?;
        devices.push(Device { name: NICSIM, place });
    }
    if Path::new(NETDEVSIM).exists() {
        devices.push(netdevsim()?);
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
    commands.iter().try_for_each(|command| ip(command))?;
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

/// Runs `ip` with these words.
pub(super) fn ip(command: &str) -> Result<()> {
    let step = format!("ip {command}");
    tool::output(Command::new("ip").args(command.split(' ')), &step).map(drop)
}

/// A netdevsim that is joined to another: without, it has no carrier.
fn netdevsim() -> Result<Device> {
    let write = |file: &str, text: &str| {
        let path = Path::new(NETDEVSIM).join(file);
        fs::write(&path, text).with_context(|| format!("writing {text} to {}", path.display()))
    };
    let (number, ports, queues) = (1, 2, 4);
    write("new_device", &format!("{number} {ports} {queues}"))?;
    let interfaces = interfaces_of("netdevsim")?;
    let [near, far] = &interfaces[..] else { bail!("netdevsim made {interfaces:?}") };
    let here = File::open("/proc/self/ns/net").context("opening the namespace")?;
    let end = |interface: &String| -> Result<String> {
        let path = Path::new(CLASS).join(interface).join("ifindex");
        let index = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
        Ok(format!("{}:{}", here.as_raw_fd(), index.trim()))
    };
    write("link_device", &format!("{} {}", end(near)?, end(far)?))?;
    let place = Place::new(near, Kind::Other)?;
    place.link_up()?;
    Place::new(far, Kind::Other)?.link_up()?;
    Ok(Device { name: "netdevsim", place })
}

/// The interface that this driver serves.
fn interface_of(driver: &str) -> Result<String> {
    let first = interfaces_of(driver)?.into_iter().next();
    first.with_context(|| format!("{driver} has made no interface"))
}

/// The interfaces that this driver serves, sorted.
fn interfaces_of(driver: &str) -> Result<Vec<String>> {
    let names = fs::read_dir(CLASS).context("listing interfaces")?.flatten();
    let serves = |path: &Path| {
        let link: PathBuf = fs::read_link(path.join("device/driver")).unwrap_or_default();
        link.file_name().is_some_and(|name| name == driver)
    };
    let served = names.filter(|entry| serves(&entry.path()));
    let mut found: Vec<String> =
        served.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    found.sort();
    Ok(found)
}
