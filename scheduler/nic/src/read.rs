//! Takes a snapshot of a device's settings. A setting that a driver lacks is `None`; one that it has
//! but that cannot be read is an error.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use steer_topology::{CpuSet, Direction, Machine, irqs_of, napi};

use crate::device::Device;
use crate::error::{Error, Fault};
use crate::ethtool::if_supported;
use crate::files;
use crate::irqbalance;
use crate::live::{Live, is_fixed, queue_folders};
use crate::plan::{HostState, Irqbalance};
use crate::setting::{Channels, Value, What};
use crate::state::{ChannelState, Feature, IrqState, NapiState, NicState, Pause, RxQueue, TxQueue};
use crate::threads;
use crate::writers::writers;

impl Live {
    /// The settings of the interface called `name`.
    ///
    /// # Errors
    /// There is no such interface, or something of it cannot be read.
    pub fn state(&self, machine: &Machine, name: &str) -> Result<NicState, Error> {
        let device = Device::named(self.root(), name).ok_or_else(|| self.unknown(name))?;
        let fault = |error| Fault::new(format!("read the settings of {name}"), error);
        let nic = machine.nic(name);
        let (rx, tx) = self.queues(&device).map_err(fault)?;
        let ethtool = &self.ethtool;
        // tun and tap devices tell of channels and cannot change them
        let is_tun = self.attribute(name, "tun_flags").is_some();
        let channels = if_supported(ethtool.channels(name)).map_err(fault)?.filter(|_| !is_tun);
        let table = if_supported(ethtool.rss_table(name)).map_err(fault)?;
        // A driver that does not tell these has every mode but `rules`, which asks again.
        let port_rules = ethtool.port_rules(name).unwrap_or_default();
        let contexts = ethtool.rss_contexts(name).ok().flatten();
        Ok(NicState {
            driver: nic.and_then(|nic| nic.driver.clone()),
            operstate: self.attribute(name, "operstate"),
            speed_mbps: nic.and_then(|nic| nic.speed_mbps),
            node: nic.and_then(|nic| nic.node),
            local_cpus: nic.and_then(|nic| nic.local_cpus.clone()),
            channels: channels.map(|(max, now)| ChannelState { now, max }),
            kind: self.kind(name),
            below: self.below(name),
            rss_table: table.filter(|table| !table.is_empty()),
            ntuple: if_supported(ethtool.ntuple(name)).map_err(fault)?.flatten(),
            rules: if_supported(ethtool.rule_count(name)).map_err(fault)?,
            port_rules,
            rss_contexts: contexts.map(|all| all.into_iter().map(|(_, queues)| queues).collect()),
            rings: if_supported(ethtool.rings(name)).map_err(fault)?,
            coalesce: if_supported(ethtool.coalesce(name)).map_err(fault)?,
            defer_hard_irqs: self.number(name, What::DeviceDefer).map_err(fault)?,
            gro_flush_timeout: self.number(name, What::DeviceFlush).map_err(fault)?,
            rx,
            tx,
            irqs: self.irqs(name)?,
            device,
        })
    }

    /// All features of a device by the kernel's names, such as `rx-gro`.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn features(&self, name: &str) -> Result<BTreeMap<String, Feature>, Error> {
        let fault = |error| Fault::new(format!("read the features of {name}"), error);
        let features = if_supported(self.ethtool.features(name)).map_err(fault)?;
        Ok(features.unwrap_or_default())
    }

    /// Whether a device sends and obeys pause frames; `None` if it does not know them.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn pause(&self, name: &str) -> Result<Option<Pause>, Error> {
        let fault = |error| Fault::new(format!("read the flow control of {name}"), error);
        Ok(if_supported(self.ethtool.pause(name)).map_err(fault)?)
    }

    /// The counters of a device's driver, by the driver's names.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn statistics(&self, name: &str) -> Result<BTreeMap<String, u64>, Error> {
        let fault = |error| Fault::new(format!("read the statistics of {name}"), error);
        let counters = if_supported(self.ethtool.statistics(name)).map_err(fault)?;
        Ok(counters.unwrap_or_default())
    }

    /// Entries of the host's RFS table.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn sock_flows(&self) -> Result<Option<u64>, Error> {
        let fault = |error| Fault::new("read the RFS flows of the host", error);
        Ok(self.number("", What::SockFlows).map_err(fault)?)
    }

    /// The settings that all devices share.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn host(&self) -> Result<HostState, Error> {
        let fault = |error| Fault::new("ask irqbalance which interrupts it leaves alone", error);
        let runs = || writers(self.root()).iter().any(|writer| writer.name == irqbalance::NAME);
        let irqbalance = match irqbalance::list().map_err(fault)? {
            Some(banned) => Irqbalance::Banned(banned),
            None if runs() => Irqbalance::Deaf,
            None => Irqbalance::Absent,
        };
        Ok(HostState { sock_flows: self.sock_flows()?, irqbalance })
    }

    /// Names of all interfaces but the loopback, sorted.
    pub fn interfaces(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root().join("sys/class/net"));
        let entries = entries.into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        // "bonding_masters" is a file here
        names.retain(|name| name != "lo" && Device::named(self.root(), name).is_some());
        names.sort();
        names
    }

    fn unknown(&self, name: &str) -> Error {
        Error::NoInterface { name: name.to_owned(), known: self.interfaces() }
    }

    /// The text of a file of an interface in sysfs, such as `carrier_changes`.
    pub fn attribute(&self, name: &str, attribute: &str) -> Option<String> {
        files::text(&self.root().join("sys/class/net").join(name).join(attribute)).ok().flatten()
    }

    /// The channels that the interface uses; `None` if its driver does not report them.
    ///
    /// # Errors
    /// The driver does not answer.
    pub fn channels(&self, name: &str) -> Result<Option<Channels>, Error> {
        let fault = |error| Fault::new(format!("read the channels of {name}"), error);
        let channels = if_supported(self.ethtool.channels(name)).map_err(fault)?;
        Ok(channels.map(|(_, now)| now))
    }

    fn kind(&self, name: &str) -> Option<String> {
        let text = self.attribute(name, "uevent")?;
        text.lines().find_map(|line| line.strip_prefix("DEVTYPE=")).map(str::to_owned)
    }

    /// Names of the devices below an interface, sorted.
    fn below(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root().join("sys/class/net").join(name));
        let names = entries.into_iter().flatten().flatten().filter_map(|entry| {
            entry.file_name().to_str()?.strip_prefix("lower_").map(str::to_owned)
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn irqs(&self, name: &str) -> Result<Vec<IrqState>, Error> {
        let state = |irq: steer_topology::Irq| IrqState {
            fixed: is_fixed(self.root(), irq.number),
            number: irq.number,
            name: irq.name,
            queue: irq.queue,
            asked: irq.affinity,
            effective: irq.effective,
        };
        Ok(irqs_of(name)?.into_iter().map(state).collect())
    }

    fn queues(&self, device: &Device) -> io::Result<(Vec<RxQueue>, Vec<TxQueue>)> {
        let contexts = contexts(self.root(), device)?;
        let (mut rx, mut tx) = (Vec::new(), Vec::new());
        for (direction, index) in queue_folders(self.root(), &device.name)? {
            if direction == Direction::Tx {
                tx.push(TxQueue { index, xps: self.cpus(&device.name, What::Xps(index))? });
            } else {
                rx.push(RxQueue {
                    index,
                    rps: self.cpus(&device.name, What::Rps(index))?,
                    rfs_flows: self.number(&device.name, What::RpsFlows(index))?,
                    napi: contexts.get(&index).cloned(),
                });
            }
        }
        Ok((rx, tx))
    }

    fn cpus(&self, interface: &str, what: What) -> io::Result<Option<CpuSet>> {
        let value = self.file(interface, what)?;
        Ok(value.and_then(|value| if let Value::Cpus(cpus) = value { Some(cpus) } else { None }))
    }

    fn number(&self, interface: &str, what: What) -> io::Result<Option<u64>> {
        let value = self.file(interface, what)?;
        Ok(value.and_then(|value| if let Value::Number(n) = value { Some(n) } else { None }))
    }

    fn file(&self, interface: &str, what: What) -> io::Result<Option<Value>> {
        match files::path(self.root(), interface, what) {
            Some(path) => files::read(&path, what),
            None => Ok(None),
        }
    }
}

/// The NAPI context of each receive queue of a device.
fn contexts(root: &Path, device: &Device) -> io::Result<BTreeMap<u32, NapiState>> {
    let queues = napi::queues().map_err(io::Error::other)?.unwrap_or_default();
    let napis = napi::napis().map_err(io::Error::other)?.unwrap_or_default();
    let of_device = queues
        .iter()
        .filter(|polled| polled.ifindex == device.ifindex)
        .filter(|polled| polled.queue.direction == Direction::Rx);
    let state = |napi: &napi::Napi| NapiState {
        id: napi.id,
        thread: napi.pid,
        thread_cpus: napi.pid.and_then(|thread| threads::cpus(root, thread)),
        defer_hard_irqs: napi.defer_hard_irqs,
        gro_flush_timeout: napi.gro_flush_timeout,
        irq_suspend_timeout: napi.irq_suspend_timeout,
    };
    let context = |id| napis.iter().find(|napi| napi.id == id).map(state);
    Ok(of_device.filter_map(|polled| Some((polled.queue.index, context(polled.napi)?))).collect())
}
