//! Everything that can be set, each with a name that stays the same when interrupts are numbered
//! anew, and the values such a setting can have.

use std::fmt;

use serde::{Deserialize, Serialize};
use steer_topology::{CpuSet, Direction, QueueRef};

use crate::device::Device;
use crate::queues::Queues;
use crate::rule::Match;

/// One setting of the host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// The device it belongs to; `None` for one of the whole host.
    pub device: Option<Device>,
    /// Which of its settings.
    pub what: What,
}

/// What is set. The order is the order of writing; settings are put back in reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// How many channels the device uses. A change disturbs every setting of a queue.
    Channels,
    /// The RSS indirection table: the receive queue of each hash value.
    RssTable,
    /// Whether the device takes ntuple rules.
    Ntuple,
    /// A further RSS context, whose table has these queues. The kernel numbers contexts as it likes,
    /// so the queues tell them apart.
    RssContext(Queues),
    /// The ntuple rule for these packets.
    Rule(Match),
    /// Whether irqbalance leaves the interrupt of a queue alone.
    IrqbalanceBan(QueueRef),
    /// The CPUs that the interrupt of a queue may go to.
    IrqAffinity(QueueRef),
    /// The CPUs that send through a transmit queue.
    Xps(u32),
    /// The CPUs that packets of a receive queue are passed to.
    Rps(u32),
    /// Entries in the flow table of a receive queue (RFS).
    RpsFlows(u32),
    /// Entries in the host's table of the CPUs that read flows (RFS).
    SockFlows,
    /// How often a device may find nothing before its interrupts are on again.
    DeviceDefer,
    /// Nanoseconds before a device's queues are looked at without an interrupt.
    DeviceFlush,
    /// As `DeviceDefer`, of the NAPI context of a receive queue.
    NapiDefer(u32),
    /// As `DeviceFlush`, of the NAPI context of a receive queue.
    NapiFlush(u32),
    /// Nanoseconds that the interrupt of a receive queue stays off while a program polls.
    NapiSuspend(u32),
    /// The CPUs of the kernel thread that the NAPI context of a receive queue runs in.
    NapiThread(u32),
}

/// What a setting is set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A number, or nanoseconds.
    Number(u64),
    /// On or off.
    Switch(bool),
    /// CPUs.
    Cpus(CpuSet),
    /// Channels of each kind.
    Channels(Channels),
    /// A receive queue for each hash value.
    Table(Vec<u32>),
    /// The receive queues that a rule sends packets to; none: there is no such rule.
    Queues(Queues),
}

/// Channels of each kind, as ethtool counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channels {
    /// That only receive.
    pub rx: u32,
    /// That only transmit.
    pub tx: u32,
    /// That do neither, such as link events.
    pub other: u32,
    /// That do both.
    pub combined: u32,
}

impl Channels {
    /// How many receive queues they make.
    pub fn receive(&self) -> u32 {
        self.rx + self.combined
    }

    /// How many transmit queues they make.
    pub fn transmit(&self) -> u32 {
        self.tx + self.combined
    }
}

impl What {
    /// Whether a change of the number of channels disturbs it.
    pub fn of_a_queue(&self) -> bool {
        !matches!(
            self,
            What::Channels
                | What::Ntuple
                | What::RssContext(_)
                | What::Rule(_)
                | What::SockFlows
                | What::DeviceDefer
                | What::DeviceFlush
        )
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Some(device) => write!(f, "{device} {}", self.what),
            None => self.what.fmt(f),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Channels => f.write_str("channels"),
            What::RssTable => f.write_str("RSS table"),
            What::Ntuple => f.write_str("ntuple filters"),
            What::RssContext(queues) => write!(f, "RSS context of queues {queues}"),
            What::Rule(packets) => write!(f, "rule for {packets}"),
            What::IrqbalanceBan(queue) => write!(f, "{} irqbalance ban", name(queue)),
            What::IrqAffinity(queue) => write!(f, "{} IRQ affinity", name(queue)),
            What::Xps(queue) => write!(f, "tx-{queue} XPS"),
            What::Rps(queue) => write!(f, "rx-{queue} RPS"),
            What::RpsFlows(queue) => write!(f, "rx-{queue} RFS flows"),
            What::SockFlows => f.write_str("RFS flows of the host"),
            What::DeviceDefer => f.write_str("deferred IRQs"),
            What::DeviceFlush => f.write_str("GRO flush timeout"),
            What::NapiDefer(queue) => write!(f, "rx-{queue} deferred IRQs"),
            What::NapiFlush(queue) => write!(f, "rx-{queue} GRO flush timeout"),
            What::NapiSuspend(queue) => write!(f, "rx-{queue} IRQ suspend timeout"),
            What::NapiThread(queue) => write!(f, "rx-{queue} NAPI thread"),
        }
    }
}

/// A queue as sysfs calls it; a pair as both.
pub fn name(queue: &QueueRef) -> String {
    match queue.direction {
        Direction::Rx => format!("rx-{}", queue.index),
        Direction::Tx => format!("tx-{}", queue.index),
        Direction::Both => format!("rx-{0}/tx-{0}", queue.index),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            Value::Cpus(cpus) if cpus.is_empty() => f.write_str("no CPU"),
            Value::Cpus(cpus) => write!(f, "CPU {cpus}"),
            Value::Channels(channels) => channels.fmt(f),
            Value::Table(table) => {
                let queues: std::collections::BTreeSet<_> = table.iter().collect();
                let list: CpuSet = queues.into_iter().copied().collect();
                write!(f, "{} entries over queues {list}", table.len())
            }
            Value::Queues(queues) if queues.is_empty() => f.write_str("no rule"),
            Value::Queues(queues) if queues.len() == 1 => write!(f, "queue {queues}"),
            Value::Queues(queues) => write!(f, "queues {queues}"),
        }
    }
}

impl fmt::Display for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [("combined", self.combined), ("rx", self.rx), ("tx", self.tx)];
        let used = kinds.iter().filter(|(_, count)| *count > 0);
        let words: Vec<String> = used.map(|(kind, count)| format!("{count} {kind}")).collect();
        f.write_str(&words.join(", "))
    }
}
