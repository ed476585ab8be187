//! A NIC as plain data: its place, its queues and the IRQs that serve them.

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;

/// A network interface with a device behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// Interface name, such as `eth0`.
    pub name: String,
    /// The kernel's interface number; `None` from XML.
    pub ifindex: Option<u32>,
    /// Hardware address. Virtual functions may share one or have none.
    pub mac: Option<String>,
    /// Address of its PCI function, such as `0000:3b:00.0`. Several interfaces can share a
    /// function. An interface on another bus (vmbus, virtio-mmio) has none.
    pub pci: Option<String>,
    /// Driver bound to the device, such as `virtio_net`; `None` from XML.
    pub driver: Option<String>,
    /// Number of its node.
    pub node: Option<u32>,
    /// The NIC-local CPUs: those of the smallest part of the machine that hwloc sees around it, or
    /// those of its node. If that part is the whole machine, and only one node has CPUs, these are
    /// all CPUs. Otherwise `None`, because the place is unknown.
    pub local_cpus: Option<CpuSet>,
    /// Link speed in Mbit/s. `None` while the link is down, on virtual NICs and from XML.
    pub speed_mbps: Option<u32>,
    /// Operational state as the kernel writes it (`up`, `down`, `unknown` …); `None` from XML.
    pub operstate: Option<String>,
    /// Queues in use; `None` from XML.
    pub queues: Option<Queues>,
    /// Its IRQs that have a handler, by number. Drivers request most of them when the interface
    /// goes up. Empty from XML, and for USB and other devices that use another device's IRQ.
    pub irqs: Vec<Irq>,
}

/// How many queues a NIC uses in each direction.
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
    /// Name of its handler, such as `virtio1-input.0`. A shared IRQ has several, comma-separated.
    pub name: String,
    /// The queue it serves, read from its name. `None` for configuration and event interrupts, and
    /// for names of an unknown pattern.
    pub queue: Option<QueueRef>,
    /// The CPUs that it may be delivered to.
    pub affinity: CpuSet,
    /// The CPUs that it is delivered to. After a change of `affinity` this is out of date until the
    /// next interrupt. `None` if the kernel does not say, or has not picked a CPU yet.
    pub effective: Option<CpuSet>,
}

/// A queue of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct QueueRef {
    /// The direction of its packets.
    pub direction: Direction,
    /// Queue number, from 0, as in `queues/rx-0` in sysfs.
    pub index: u32,
}

/// The direction of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Receive.
    Rx,
    /// Transmit.
    Tx,
    /// One interrupt serves both the receive and the transmit queue of that number.
    Both,
}
