//! A network card as plain data: its place, its queues and the IRQs that serve them.

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;

/// A network interface with a device behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// Interface name, such as `eth0`.
    pub name: String,
    /// The kernel's interface number; `None` from XML.
    pub ifindex: Option<u32>,
    /// Hardware address; virtual functions may share one or have none.
    pub mac: Option<String>,
    /// Address of the PCI function it sits on, such as `0000:3b:00.0`. Several interfaces can sit
    /// on one function, and an interface on another bus (vmbus, virtio-mmio) on none.
    pub pci: Option<String>,
    /// Driver bound to the device, such as `virtio_net`; `None` from XML.
    pub driver: Option<String>,
    /// Number of the node it hangs on.
    pub node: Option<u32>,
    /// The NIC-local CPUs: those of the smallest part of the machine that hwloc sees around it, or
    /// of its node. If that part is the whole machine: all CPUs where only one node has CPUs, else
    /// `None`, because the place is unknown.
    pub local_cpus: Option<CpuSet>,
    /// Link speed in Mbit/s; `None` while the link is down, on virtual NICs and from XML.
    pub speed_mbps: Option<u32>,
    /// Operational state as the kernel writes it (`up`, `down`, `unknown` …); `None` from XML.
    pub operstate: Option<String>,
    /// Queues in use; `None` from XML.
    pub queues: Option<Queues>,
    /// Its IRQs that have a handler (drivers request most of them when the interface goes up), by
    /// number. Empty from XML, and for USB and other devices that share another device's IRQ.
    pub irqs: Vec<Irq>,
}

/// How many queues a NIC uses each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// Receive queues.
    pub rx: u32,
    /// Transmit queues.
    pub tx: u32,
}

/// An interrupt of a NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Irq {
    /// Linux IRQ number.
    pub number: u32,
    /// Name of its handler, such as `virtio1-input.0`; several, comma-separated, if it is shared.
    pub name: String,
    /// The queue it serves, read from its name; `None` for configuration and event interrupts and
    /// for names of an unknown pattern.
    pub queue: Option<QueueRef>,
    /// The CPUs it may be delivered to.
    pub affinity: CpuSet,
    /// The CPUs it is in fact delivered to; lags a change of `affinity` until the next interrupt.
    /// `None` where the kernel does not say or has not picked one yet.
    pub effective: Option<CpuSet>,
}

/// A queue of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct QueueRef {
    /// Which way the queue's packets go.
    pub direction: Direction,
    /// Queue number, from 0, as in `queues/rx-0` in sysfs.
    pub index: u32,
}

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Receive.
    Rx,
    /// Transmit.
    Tx,
    /// One interrupt for the receive and the transmit queue of that number.
    Both,
}
