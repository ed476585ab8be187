//! Which device a setting belongs to. A name is not enough: names are used again, and a device that
//! left and came back has lost its settings.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One network device, from when it appeared to when it leaves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Device {
    /// Its name when it was looked at.
    pub name: String,
    /// Address of its PCI function, if it has one.
    pub pci: Option<String>,
    /// The kernel's number for it. Never given twice in a network namespace until the next boot.
    pub ifindex: u32,
    /// The network namespace: the inode number of its file.
    pub namespace: u64,
}

/// Whether a device is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Under this name.
    Here(String),
    /// It left, and its settings with it. Another device may have its name now.
    Gone,
    /// It is in another network namespace than the caller.
    Elsewhere,
}

impl Device {
    /// The device with this name in the caller's network namespace.
    pub fn named(root: &Path, name: &str) -> Option<Device> {
        let directory = root.join("sys/class/net").join(name);
        let ifindex = number(&directory)?;
        Some(Device {
            name: name.to_owned(),
            pci: pci(&directory),
            ifindex,
            namespace: namespace(root),
        })
    }

    /// Where it is now.
    pub fn presence(&self, root: &Path) -> Presence {
        if namespace(root) != self.namespace {
            return Presence::Elsewhere;
        }
        let class = root.join("sys/class/net");
        let is_it = |name: &str| {
            let directory = class.join(name);
            number(&directory) == Some(self.ifindex) && pci(&directory) == self.pci
        };
        if is_it(&self.name) {
            return Presence::Here(self.name.clone());
        }
        let names = fs::read_dir(&class).into_iter().flatten().flatten();
        let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
        names.find(|name| is_it(name)).map_or(Presence::Gone, Presence::Here)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn number(directory: &Path) -> Option<u32> {
    fs::read_to_string(directory.join("ifindex")).ok()?.trim().parse().ok()
}

/// The nearest PCI function at or above the device behind an interface.
fn pci(directory: &Path) -> Option<String> {
    let device = fs::canonicalize(directory.join("device")).ok()?;
    let on_pci = |path: &&Path| {
        fs::read_link(path.join("subsystem"))
            .is_ok_and(|bus| bus.file_name() == Some("pci".as_ref()))
    };
    let function = device.ancestors().find(on_pci)?;
    function.file_name()?.to_str().map(str::to_owned)
}

/// 0 where there is no such file: a kernel without namespaces has one.
fn namespace(root: &Path) -> u64 {
    fs::metadata(root.join("proc/self/ns/net")).map_or(0, |file| file.ino())
}
