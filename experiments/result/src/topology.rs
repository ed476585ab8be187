//! The part of `result.json` that says where the measured machine's CPUs and its NIC's queues are.
//! Its comments are the descriptions in the JSON Schema. CPUs are lists like `2-3`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The measured machine's CPUs, and the NIC that the traffic came in by. The NIC's own place is in
/// `environment`. Where there were several NICs, this is about the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// NUMA nodes that have CPUs.
    pub nodes: Vec<Node>,
    /// Last-level caches; none where the kernel does not tell.
    pub caches: Vec<Cache>,
    /// CPUs of each core: several of one core are SMT siblings.
    pub cores: Vec<String>,
    /// Name of the NIC.
    pub nic: String,
    /// Queues of the NIC by steering world, as they were before its first sample.
    pub queues: IndexMap<String, Vec<Queue>>,
    /// The others, where the traffic came in by several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_nics: Vec<OtherNic>,
}

/// A NIC besides the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherNic {
    /// Its name.
    pub name: String,
    /// NUMA node it hangs on; null where that is unknown.
    pub node: Option<u32>,
    /// Its queues by steering world.
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

/// An interrupt of a queue; a queue has two where receiving and sending have one each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// Number of the queue.
    pub queue: u32,
    /// Number of the IRQ.
    pub irq: u32,
    /// CPUs that may take it.
    pub cpus: String,
}
