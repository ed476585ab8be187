//! Where a trial happens: one network device of this machine, with what decides on its packets'
//! CPUs. Reads and writes these settings by itself, as the program under test must not be its own
//! witness.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use steer_ground::tool;

/// The settings of a moment: name and value, as the kernel writes it.
pub(crate) type Settings = BTreeMap<String, String>;

/// The kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A veth pair in a namespace: any host has it. It has channels and no interrupts.
    Veth,
    /// A virtio NIC in a guest: channels, interrupts, NAPI contexts, RFS.
    Virtio,
    /// Any other device. It may have channels, and interrupts of its own (MSI).
    Other,
}

/// Queues of a device.
const QUEUES: u32 = 4;
/// Files of each queue.
const OF_QUEUES: [&str; 3] = ["rps_cpus", "rps_flow_cnt", "xps_cpus"];
/// Files of a device.
const OF_DEVICE: [&str; 2] = ["napi_defer_hard_irqs", "gro_flush_timeout"];
/// The file of the host's RFS table; only in the first network namespace.
pub(crate) const SOCK_FLOWS: &str = "/proc/sys/net/core/rps_sock_flow_entries";
const CHANNELS: &str = "channels";
const ETHTOOL: &str = "ethtool ";
/// What else ethtool shows of a NIC: its features, its table of RSS, and its ntuple rules.
const SHOWN: [&str; 3] = ["-k {}", "-x {}", RULES];
const RULES: &str = "-n {}";
/// RSS contexts that ethtool is asked for.
const CONTEXTS: Range<u32> = 1..8;
const IRQ: &str = "irq ";

/// One device.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) interface: String,
    pub(crate) kind: Kind,
    /// The virtio device's name, such as virtio3.
    device: String,
}

impl Place {
    /// The device called `interface`; a veth pair is made.
    pub(crate) fn new(interface: &str, kind: Kind) -> Result<Self> {
        let mut place = Self { interface: interface.to_owned(), kind, device: String::new() };
        match kind {
            Kind::Veth => place.plug()?,
            Kind::Other => {}
            Kind::Virtio => {
                let device = fs::canonicalize(place.sys("device")).context("finding the device")?;
                let name = device.file_name().context("the device has no name")?;
                place.device = name.to_string_lossy().into_owned();
            }
        }
        Ok(place)
    }

    fn sys(&self, file: &str) -> PathBuf {
        Path::new("/sys/class/net").join(&self.interface).join(file)
    }

    /// All settings as they are now.
    pub(crate) fn settings(&self) -> Result<Settings> {
        let mut settings = Settings::new();
        let mut note = |name: String, path: &Path| match fs::read_to_string(path) {
            Ok(value) => {
                settings.insert(name, value.trim().to_owned());
                Ok(())
            }
            // a single transmit queue has no XPS; the RFS table is not in every namespace
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
        };
        for queue in fs::read_dir(self.sys("queues")).context("listing queues")? {
            let queue = queue?.file_name().to_string_lossy().into_owned();
            for file in OF_QUEUES {
                let name = format!("{queue} {file}");
                note(name, &self.sys(&format!("queues/{queue}/{file}")))?;
            }
        }
        for file in OF_DEVICE {
            note(file.to_owned(), &self.sys(file))?;
        }
        note(SOCK_FLOWS.to_owned(), Path::new(SOCK_FLOWS))?;
        for (name, irq) in self.irqs()? {
            note(name, &PathBuf::from(format!("/proc/irq/{irq}/smp_affinity_list")))?;
        }
        let channels = match self.kind {
            Kind::Other => self.channel_counts(),
            Kind::Veth | Kind::Virtio => Some(self.channels()?.to_string()),
        };
        settings.extend(channels.map(|channels| (CHANNELS.to_owned(), channels)));
        if self.kind == Kind::Other {
            let contexts = CONTEXTS.map(|number| format!("-x {{}} context {number}"));
            for words in SHOWN.map(str::to_owned).into_iter().chain(contexts) {
                let shown = self.ethtool(&words).ok();
                settings.extend(shown.map(|shown| (format!("{ETHTOOL}{words}"), shown)));
            }
        }
        Ok(settings)
    }

    /// Writes a setting as another program would.
    pub(crate) fn write(&self, name: &str, value: &str) -> Result<()> {
        if name == CHANNELS {
            return self.set_channels(value);
        }
        let path = match name.split_once(' ') {
            Some((_, queue)) if name.starts_with(IRQ) => {
                let irqs = self.irqs()?;
                let irq = irqs.get(name).with_context(|| format!("no interrupt of {queue}"))?;
                PathBuf::from(format!("/proc/irq/{irq}/smp_affinity_list"))
            }
            Some((queue, file)) => self.sys(&format!("queues/{queue}/{file}")),
            None if name == SOCK_FLOWS => PathBuf::from(SOCK_FLOWS),
            None => self.sys(name),
        };
        fs::write(&path, value).with_context(|| format!("writing {value} to {}", path.display()))
    }

    /// A value that another program may give a setting: one that scx_steer gives it in no mode.
    /// `None` for channels.
    pub(crate) fn foreign_value(&self, name: &str, rng: &mut fastrand::Rng) -> Option<String> {
        let power = |rng: &mut fastrand::Rng, range| 1u64 << rng.u32(range);
        Some(match name {
            CHANNELS => return None,
            SOCK_FLOWS => power(rng, 9..12).to_string(),
            "napi_defer_hard_irqs" => rng.u32(1..50).to_string(),
            "gro_flush_timeout" => rng.u32(1000..9000).to_string(),
            // scx_steer lets an interrupt go to one CPU
            _ if name.starts_with(IRQ) => ["0-1", "1-2", "0,3"][rng.usize(0..3)].to_owned(),
            _ if name.ends_with("rps_flow_cnt") => power(rng, 3..10).to_string(),
            _ if name.ends_with("rps_cpus") => rng.u32(1..4).to_string(),
            // each of its queues sends for some CPU
            _ => "0".to_owned(),
        })
    }

    /// A number of channels that scx_steer gives no device on these machines, with two serving
    /// cores at most.
    pub(crate) fn foreign_channels(rng: &mut fastrand::Rng) -> String {
        rng.u32(3..=QUEUES).to_string()
    }

    /// Whether a setting of the device can be written while its link is down.
    pub(crate) fn is_open_while_down(&self, name: &str) -> bool {
        let cannot = [CHANNELS, SOCK_FLOWS].contains(&name)
            || name.starts_with(ETHTOOL)
            || self.kind == Kind::Other && name.starts_with(IRQ);
        !cannot
    }

    /// The queue that a setting belongs to.
    pub(crate) fn queue_of(name: &str) -> Option<u32> {
        let (first, second) = name.split_once(' ')?;
        let queue = if name.starts_with(IRQ) { second } else { first };
        queue.rsplit(['-', '.']).next()?.parse().ok()
    }

    /// Whether a setting exists on a device that uses this many channels.
    pub(crate) fn exists(name: &str, channels: u32) -> bool {
        Self::queue_of(name).is_none_or(|queue| queue < channels)
            && !(channels == 1 && name.ends_with("xps_cpus"))
    }

    /// Numbers of the interrupts of queues, by the name of the setting.
    fn irqs(&self) -> Result<BTreeMap<String, u32>> {
        let mut irqs = BTreeMap::new();
        if self.kind == Kind::Veth {
            return Ok(irqs);
        }
        let prefix = match self.kind {
            Kind::Virtio => &self.device,
            _ => &self.interface,
        };
        for entry in fs::read_dir("/sys/kernel/irq").context("listing interrupts")? {
            let entry = entry?;
            let actions = fs::read_to_string(entry.path().join("actions")).unwrap_or_default();
            let queue = actions.trim().strip_prefix(&format!("{prefix}-"));
            let queue = queue.filter(|it| *it != "config" && *it != "control");
            if let (Some(queue), Ok(number)) = (queue, entry.file_name().to_string_lossy().parse())
            {
                irqs.insert(format!("{IRQ}{queue}"), number);
            }
        }
        Ok(irqs)
    }

    /// Takes one of the NIC's ntuple rules away, as a driver may that resets.
    ///
    /// # Errors
    /// It has none.
    pub(crate) fn lose_rule(&self) -> Result<()> {
        let rules = self.ethtool(RULES)?;
        let place = rules.lines().find_map(|line| line.strip_prefix("Filter: "));
        let place = place.context("the NIC has no ntuple rule")?;
        let mut command = Command::new("ethtool");
        command.args(["-N", &self.interface, "delete", place.trim()]);
        tool::output(&mut command, "ethtool -N").map(drop)
    }

    /// What ethtool shows; `{}` in its words is the device.
    fn ethtool(&self, words: &str) -> Result<String> {
        let words = words.replace("{}", &self.interface);
        let step = format!("ethtool {words}");
        tool::output(Command::new("ethtool").args(words.split(' ')), &step)
    }

    /// Channels in use: of each kind, or combined.
    pub(crate) fn channels(&self) -> Result<u32> {
        let text = self.ethtool("-l {}")?;
        let (_, now) = text.split_once("Current").context("ethtool -l says nothing of now")?;
        let word = if self.kind == Kind::Veth { "RX:" } else { "Combined:" };
        let line = now.lines().find_map(|line| line.strip_prefix(word));
        let line = line.with_context(|| format!("ethtool -l has no line {word}"))?;
        line.trim().parse().with_context(|| format!("{line} channels"))
    }

    /// Channels in use of each kind, if the driver tells.
    fn channel_counts(&self) -> Option<String> {
        let text = self.ethtool("-l {}").ok()?;
        let (_, now) = text.split_once("Current")?;
        Some(now.lines().skip(1).map(str::trim).collect::<Vec<_>>().join(", "))
    }

    fn set_channels(&self, count: &str) -> Result<()> {
        if self.channels()?.to_string() == count {
            return Ok(());
        }
        let kinds: &[&str] = if self.kind == Kind::Veth { &["rx", "tx"] } else { &["combined"] };
        let words = kinds.iter().flat_map(|kind| [*kind, count]);
        let mut command = Command::new("ethtool");
        command.args(["-L", &self.interface]).args(words);
        tool::output(&mut command, "ethtool -L").map(drop)
    }

    /// The link goes down and up.
    pub(crate) fn link_down_up(&self) -> Result<()> {
        self.link_down()?;
        self.link_up()
    }

    /// The administrator takes the link down.
    pub(crate) fn link_down(&self) -> Result<()> {
        self.ip(&["link", "set", &self.interface, "down"])
    }

    /// ... and up.
    pub(crate) fn link_up(&self) -> Result<()> {
        self.ip(&["link", "set", &self.interface, "up"])
    }

    /// The device leaves and comes back, as if it were new.
    pub(crate) fn replace(&self) -> Result<()> {
        match self.kind {
            Kind::Veth => {
                self.ip(&["link", "del", &self.interface])?;
                self.plug()
            }
            Kind::Other => bail!("{} cannot be replaced in a trial", self.interface),
            Kind::Virtio => {
                for file in ["unbind", "bind"] {
                    let path = format!("/sys/bus/virtio/drivers/virtio_net/{file}");
                    fs::write(&path, &self.device).with_context(|| format!("writing {path}"))?;
                }
                ensure!(self.sys("ifindex").exists(), "{} has another name now", self.interface);
                self.ip(&["link", "set", &self.interface, "up"])
            }
        }
    }

    /// The power fails: everything is as after boot.
    pub(crate) fn reboot(&self) -> Result<()> {
        self.replace()?;
        if self.kind == Kind::Virtio {
            fs::write(SOCK_FLOWS, "0").context("emptying the RFS table")?;
        }
        Ok(())
    }

    fn plug(&self) -> Result<()> {
        let queues = QUEUES.to_string();
        let each = ["numrxqueues", &queues, "numtxqueues", &queues, "type", "veth", "peer", "name"];
        let mut words = vec!["link", "add", &self.interface];
        words.extend(each);
        let peer = format!("{}-peer", self.interface);
        words.extend([peer.as_str(), "numrxqueues", &queues, "numtxqueues", &queues]);
        self.ip(&words)?;
        self.ip(&["link", "set", &peer, "up"])?;
        self.ip(&["link", "set", &self.interface, "up"])
    }

    fn ip(&self, words: &[&str]) -> Result<()> {
        tool::output(Command::new("ip").args(words), &format!("ip {}", words.join(" "))).map(drop)
    }

    /// Takes a CPU out of use, or back.
    pub(crate) fn set_online(cpu: u32, online: bool) -> Result<()> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
        match fs::write(&path, if online { "1" } else { "0" }) {
            Err(error) => bail!("writing {path}: {error}"),
            Ok(()) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn settings_of_queues_are_told_apart() {
        assert_eq!(Place::queue_of("rx-3 rps_cpus"), Some(3));
        assert_eq!(Place::queue_of("irq input.2"), Some(2));
        assert_eq!(Place::queue_of("irq TxRx-3"), Some(3));
        assert_eq!(Place::queue_of("gro_flush_timeout"), None);
        assert_eq!(Place::queue_of("channels"), None);
        assert!(Place::exists("rx-0 rps_cpus", 1) && !Place::exists("tx-0 xps_cpus", 1));
        assert!(!Place::exists("irq output.2", 2));
    }
}
