//! The part of `result.json` that says where the measured machine's CPUs and its NIC's queues are.
//! Its comments are the descriptions in the JSON Schema. CPUs are lists like `2-3`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The measured machine's CPUs, and the NIC that carried the traffic. The NIC's own place is in
/// `environment`. If there were several NICs, this is the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// NUMA nodes that have CPUs.
    pub nodes: Vec<Node>,
    /// Last-level caches; empty if the kernel does not say.
    pub caches: Vec<Cache>,
    /// CPUs of each core. CPUs of one core are SMT siblings.
    pub cores: Vec<String>,
    /// Name of the NIC.
    pub nic: String,
    /// Queues of the NIC by steering mode, before the first sample.
    pub queues: IndexMap<String, Vec<Queue>>,
    /// The other NICs, if several carried the traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_nics: Vec<OtherNic>,
}

/// A NIC besides the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherNic {
    /// Its name.
    pub name: String,
    /// Its NUMA node; null if unknown.
    pub node: Option<u32>,
    /// Its queues by steering mode.
    pub queues: IndexMap<String, Vec<Queue>>,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Number of the node.
    pub node: u32,
    /// Its CPUs.
    pub cpus: String,
}

/// A cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Its level, like 3.
    pub level: u32,
    /// CPUs that share it.
    pub cpus: String,
}

/// An interrupt of a queue. A queue has two if receiving and sending have one each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// Number of the queue.
    pub queue: u32,
    /// Number of the IRQ.
    pub irq: u32,
    /// CPUs that may take it.
    pub cpus: String,
}
