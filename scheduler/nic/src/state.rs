//! What a network device is set to, as plain data. Unknown is `None`.

use serde::{Deserialize, Serialize};
use steer_topology::{CpuSet, QueueRef};

use crate::device::Device;
pub use crate::ethtool::features::Feature;
pub use crate::ethtool::pause::Pause;
pub use crate::ethtool::rings::{Coalesce, Rings};
use crate::queues::Queues;
use crate::rule::PortRule;
use crate::setting::Channels;

/// The settings of one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NicState {
    /// Which device.
    pub device: Device,
    /// Its driver; `None` for a virtual device.
    pub driver: Option<String>,
    /// Operational state, as the kernel writes it.
    pub operstate: Option<String>,
    /// Link speed in Mbit/s.
    pub speed_mbps: Option<u32>,
    /// Number of the node it hangs on.
    pub node: Option<u32>,
    /// The NIC-local CPUs.
    pub local_cpus: Option<CpuSet>,
    /// Its kind by the kernel's name, such as `bridge`; `None` for most NICs.
    #[serde(default)]
    pub kind: Option<String>,
    /// Devices below it, as of a bond, VLAN, bridge or macvlan: packets arrive at these.
    #[serde(default)]
    pub below: Vec<String>,
    /// Channels: in use, and the most it can have.
    pub channels: Option<ChannelState>,
    /// The RSS indirection table; `None` if there is none.
    pub rss_table: Option<Vec<u32>>,
    /// Whether ntuple rules are taken.
    pub ntuple: Option<Feature>,
    /// How many ntuple rules there are.
    pub rules: Option<u32>,
    /// Those of them for all packets to a port.
    #[serde(default)]
    pub port_rules: Vec<PortRule>,
    /// The queues of each further RSS context; `None` if it can have none.
    #[serde(default)]
    pub rss_contexts: Option<Vec<Queues>>,
    /// Ring sizes.
    pub rings: Option<Rings>,
    /// Interrupt coalescing.
    pub coalesce: Option<Coalesce>,
    /// How often the device may find nothing before its interrupts are on again.
    pub defer_hard_irqs: Option<u64>,
    /// Nanoseconds before its queues are looked at without an interrupt.
    pub gro_flush_timeout: Option<u64>,
    /// Receive queues in use, by number.
    pub rx: Vec<RxQueue>,
    /// Transmit queues in use, by number.
    pub tx: Vec<TxQueue>,
    /// Interrupts with a handler, by number.
    pub irqs: Vec<IrqState>,
}

/// Channels in use, and the most a device can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelState {
    /// In use.
    pub now: Channels,
    /// At most.
    pub max: Channels,
}

/// A receive queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RxQueue {
    /// Its number.
    pub index: u32,
    /// CPUs that its packets are passed to (RPS); empty if to none.
    pub rps: Option<CpuSet>,
    /// Entries in its flow table (RFS).
    pub rfs_flows: Option<u64>,
    /// Its NAPI context.
    pub napi: Option<NapiState>,
}

/// A NAPI context's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NapiState {
    /// Its number.
    pub id: u32,
    /// The kernel thread it runs in.
    pub thread: Option<u32>,
    /// The CPUs that this thread may use.
    #[serde(default)]
    pub thread_cpus: Option<CpuSet>,
    /// See [`NicState::defer_hard_irqs`].
    pub defer_hard_irqs: Option<u32>,
    /// See [`NicState::gro_flush_timeout`].
    pub gro_flush_timeout: Option<u32>,
    /// Nanoseconds its interrupt stays off while a program polls.
    pub irq_suspend_timeout: Option<u32>,
}

/// A transmit queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TxQueue {
    /// Its number.
    pub index: u32,
    /// CPUs that send through it (XPS). `None` if it is the device's only one.
    pub xps: Option<CpuSet>,
}

/// An interrupt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IrqState {
    /// Its number, which changes as devices come and go.
    pub number: u32,
    /// Name of its handler.
    pub name: String,
    /// The queue it serves.
    pub queue: Option<QueueRef>,
    /// The CPUs it may go to.
    pub asked: CpuSet,
    /// The CPUs it does go to; lags until the next interrupt.
    pub effective: Option<CpuSet>,
    /// No program can move it.
    pub fixed: bool,
}
