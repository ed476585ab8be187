//! The running kernel: sysfs, procfs, ethtool and netlink.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use steer_topology::{CpuSet, Direction, Irq, QueueRef, genetlink, irqs_of, napi};

use crate::births;
use crate::device::{Device, Presence};
use crate::error::Fault;
use crate::ethtool::{Ethtool, if_supported};
use crate::files;
use crate::irqbalance;
use crate::kernel::Kernel;
use crate::queues::Queues;
use crate::rule::{Match, PortRule};
use crate::setting::{Setting, Value, What};
use crate::threads;

/// include/uapi/linux/netdev.h
const CMD_NAPI_SET: u8 = 14;

/// The kernel this runs on.
#[derive(Debug)]
pub struct Live {
    root: PathBuf,
    pub(crate) ethtool: Ethtool,
}

impl Live {
    /// Opens a socket to ask drivers.
    ///
    /// # Errors
    /// The socket cannot be opened.
    pub fn open() -> io::Result<Live> {
        Ok(Live { root: PathBuf::from("/"), ethtool: Ethtool::open()? })
    }

    /// The directory under which `sys` and `proc` lie.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The interface a setting belongs to, by its present name; empty for one of the whole host.
    fn interface(&self, setting: &Setting) -> io::Result<String> {
        match setting.device.as_ref().map(|device| device.presence(&self.root)) {
            None => Ok(String::new()),
            Some(Presence::Here(name)) => Ok(name),
            Some(_) => Err(io::Error::from_raw_os_error(libc::ENODEV)),
        }
    }

    fn read(&self, setting: &Setting) -> io::Result<Option<Value>> {
        let interface = match self.interface(setting) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
            interface => interface?,
        };
        let ethtool = &self.ethtool;
        Ok(match setting.what {
            What::Channels => {
                if_supported(ethtool.channels(&interface))?.map(|(_, now)| Value::Channels(now))
            }
            What::RssTable => if_supported(ethtool.rss_table(&interface))?
                .filter(|table| !table.is_empty())
                .map(Value::Table),
            What::Ntuple => {
                let feature = if_supported(ethtool.ntuple(&interface))?.flatten();
                feature.map(|feature| Value::Switch(feature.on))
            }
            What::RssContext(queues) => if_supported(ethtool.rss_contexts(&interface))?
                .flatten()
                .map(|all| Value::Switch(all.iter().any(|(_, its)| *its == queues))),
            What::Rule(packets) => match if_supported(ethtool.port_rules(&interface))? {
                Some(rules) => Some(Value::Queues(queues_of(&rules, packets)?)),
                None => None,
            },
            What::IrqAffinity(queue) => match irq(&interface, queue)? {
                Some(irq) => affinity(&self.root, irq.number)?.map(Value::Cpus),
                None => None,
            },
            What::IrqbalanceBan(queue) => match irq(&interface, queue)? {
                Some(irq) => irqbalance::banned(irq.number)?.map(Value::Switch),
                None => None,
            },
            What::NapiDefer(queue) => {
                napi_of(setting, queue)?.and_then(|n| n.defer_hard_irqs).map(number)
            }
            What::NapiFlush(queue) => {
                napi_of(setting, queue)?.and_then(|napi| napi.gro_flush_timeout).map(number)
            }
            What::NapiSuspend(queue) => {
                napi_of(setting, queue)?.and_then(|napi| napi.irq_suspend_timeout).map(number)
            }
            What::NapiThread(queue) => napi_of(setting, queue)?
                .and_then(|napi| threads::cpus(&self.root, napi.pid?))
                .map(Value::Cpus),
            what => match files::path(&self.root, &interface, what) {
                Some(path) => files::read(&path, what)?,
                None => None,
            },
        })
    }

    fn write(&self, setting: &Setting, value: &Value) -> io::Result<()> {
        let interface = self.interface(setting)?;
        let absent = || io::Error::from_raw_os_error(libc::ENODEV);
        match (setting.what, value) {
            (What::Channels, Value::Channels(channels)) => {
                self.ethtool.set_channels(&interface, *channels).map_err(refused)
            }
            (What::RssTable, Value::Table(table)) => {
                let queues =
                    if_supported(self.ethtool.channels(&interface))?.map(|(_, now)| now.receive());
                self.ethtool.set_rss_table(&interface, table, queues.unwrap_or(0))
            }
            (What::Ntuple, Value::Switch(on)) => {
                let rules = if_supported(self.ethtool.rule_count(&interface))?.unwrap_or(0);
                if !on && rules > 0 {
                    return Err(io::Error::other(format!(
                        "{rules} rules of other programs would go with it (ethtool -n)"
                    )));
                }
                self.ethtool.set_ntuple(&interface, *on)
            }
            (What::RssContext(queues), Value::Switch(on)) => {
                self.ethtool.set_context(&interface, queues, *on)
            }
            (What::Rule(packets), Value::Queues(queues)) => {
                self.ethtool.set_port_rule(&interface, packets, *queues)
            }
            (What::IrqAffinity(queue), Value::Cpus(cpus)) => {
                let irq = irq(&interface, queue)?.ok_or_else(absent)?;
                write(&files::affinity_path(&self.root, irq.number), &cpus.to_string())
            }
            (What::IrqbalanceBan(queue), Value::Switch(on)) => {
                irqbalance::ban(irq(&interface, queue)?.ok_or_else(absent)?.number, *on)
            }
            (What::NapiDefer(queue), Value::Number(number)) => {
                set_napi(setting, queue, napi::DEFER_HARD_IRQS, *number)
            }
            (What::NapiFlush(queue), Value::Number(number)) => {
                set_napi(setting, queue, napi::GRO_FLUSH_TIMEOUT, *number)
            }
            (What::NapiSuspend(queue), Value::Number(number)) => {
                set_napi(setting, queue, napi::IRQ_SUSPEND_TIMEOUT, *number)
            }
            (What::NapiThread(queue), Value::Cpus(cpus)) => {
                let thread = napi_of(setting, queue)?.and_then(|napi| napi.pid);
                threads::set_cpus(thread.ok_or_else(absent)?, cpus)
            }
            (what, value) => match files::path(&self.root, &interface, what) {
                Some(path) => write(&path, &files::written(value)),
                None => Err(io::Error::other("a value of another kind of setting")),
            },
        }
    }
}

impl Kernel for Live {
    fn get(&self, setting: &Setting) -> Result<Option<Value>, Fault> {
        self.read(setting).map_err(|error| Fault::new(format!("read {setting}"), error))
    }

    fn set(&self, setting: &Setting, value: &Value) -> Result<(), Fault> {
        let what = || format!("set {setting} to {value}");
        self.write(setting, value).map_err(|error| Fault::new(what(), error))
    }

    fn check(&self, setting: &Setting) -> Result<(), Fault> {
        let fault = |error| Fault::new(format!("change {setting}"), error);
        let interface = self.interface(setting).map_err(fault)?;
        let path = match setting.what {
            What::IrqAffinity(queue) => irq(&interface, queue)
                .map_err(fault)?
                .map(|irq| files::affinity_path(&self.root, irq.number)),
            what => files::path(&self.root, &interface, what),
        };
        // a queue that is not in use yet has no file
        match path.filter(|path| path.exists()) {
            Some(path) => files::check(&path).map_err(fault),
            None => Ok(()),
        }
    }

    fn presence(&self, device: &Device) -> Presence {
        device.presence(&self.root)
    }

    fn births(&self) -> births::Births {
        births::read(&self.root)
    }

    fn of_queues(&self, device: &Device) -> Result<Vec<Setting>, Fault> {
        let fault = |error| Fault::new(format!("list the queues of {device}"), error);
        let Presence::Here(name) = self.presence(device) else { return Ok(Vec::new()) };
        let mut found = vec![What::RssTable];
        for irq in irqs_of(&name).map_err(|error| fault(io::Error::other(error)))? {
            found.extend(irq.queue.map(What::IrqAffinity));
        }
        for (direction, queue) in queue_folders(&self.root, &name).map_err(fault)? {
            match direction {
                Direction::Tx => found.push(What::Xps(queue)),
                _ => found.extend([
                    What::Rps(queue),
                    What::RpsFlows(queue),
                    What::NapiDefer(queue),
                    What::NapiFlush(queue),
                    What::NapiSuspend(queue),
                    What::NapiThread(queue),
                ]),
            }
        }
        Ok(found.into_iter().map(|what| Setting { device: Some(device.clone()), what }).collect())
    }
}

/// The queues in use, as the folders of sysfs name them.
pub(crate) fn queue_folders(root: &Path, interface: &str) -> io::Result<Vec<(Direction, u32)>> {
    let folder = root.join("sys/class/net").join(interface).join("queues");
    let mut queues = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let Some((direction, index)) = name.to_str().and_then(|name| name.split_once('-')) else {
            continue;
        };
        let direction = if direction == "tx" { Direction::Tx } else { Direction::Rx };
        queues.extend(index.parse().ok().map(|index| (direction, index)));
    }
    queues.sort_unstable();
    Ok(queues)
}

/// Whether an interrupt cannot be moved by any program: since commit 0b39441e the kernel takes the
/// write permission from the file of a managed one; before, only a try shows it.
pub(crate) fn is_fixed(root: &Path, irq: u32) -> bool {
    let file = fs::metadata(files::affinity_path(root, irq));
    file.is_ok_and(|file| file.permissions().mode() & 0o222 == 0)
}

/// The interrupt of a queue, looked for anew each time: numbers change as devices come and go.
fn irq(interface: &str, queue: QueueRef) -> io::Result<Option<Irq>> {
    let irqs = irqs_of(interface).map_err(io::Error::other)?;
    Ok(irqs.into_iter().find(|irq| irq.queue == Some(queue)))
}

fn affinity(root: &Path, irq: u32) -> io::Result<Option<CpuSet>> {
    let text = files::text(&files::affinity_path(root, irq))?;
    text.map(|text| text.parse().map_err(io::Error::other)).transpose()
}

/// The kernel's answer to a number of channels, with what it may mean.
fn refused(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EINVAL) => io::Error::other(
            "invalid: it is out of range, or a rule or an RSS context names a queue that would go \
             (ethtool -l, -n, -x)",
        ),
        _ => error,
    }
}

/// Where the rule for some packets sends them; nowhere if there is none.
fn queues_of(rules: &[PortRule], packets: Match) -> io::Result<Queues> {
    match rules.iter().find(|rule| rule.packets == packets) {
        None => Ok(Queues::default()),
        Some(rule) => rule.queues.ok_or_else(|| io::Error::other("it is not for queues")),
    }
}

/// The NAPI context of a receive queue.
fn napi_of(setting: &Setting, queue: u32) -> io::Result<Option<napi::Napi>> {
    let Some(device) = &setting.device else { return Ok(None) };
    let queue = QueueRef { direction: Direction::Rx, index: queue };
    let queues = napi::queues().map_err(io::Error::other)?.unwrap_or_default();
    let polled = queues.iter().find(|q| q.ifindex == device.ifindex && q.queue == queue);
    let Some(polled) = polled else { return Ok(None) };
    let napis = napi::napis().map_err(io::Error::other)?.unwrap_or_default();
    Ok(napis.into_iter().find(|napi| napi.id == polled.napi))
}

fn set_napi(setting: &Setting, queue: u32, attribute: u16, value: u64) -> io::Result<()> {
    let absent = || io::Error::from_raw_os_error(libc::ENODEV);
    let napi = napi_of(setting, queue)?.ok_or_else(absent)?;
    let value = u32::try_from(value).map_err(io::Error::other)?;
    let numbers = [(napi::ID, napi.id), (attribute, value)];
    genetlink::command(napi::FAMILY, napi::VERSION, CMD_NAPI_SET, &numbers)
}

fn number(number: u32) -> Value {
    Value::Number(number.into())
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    // One write, as the kernel takes a value whole.
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    io::Write::write_all(&mut file, format!("{value}\n").as_bytes())
}
