//! The machine as plain data. All other rooms work with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;
use crate::nic::Nic;

/// A machine. References to cores, last-level caches and packages are indices into the vectors
/// here. References to nodes and CPUs are OS numbers, which may have gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Where the description came from.
    pub source: Source,
    /// Physical packages (sockets), in hwloc's order; empty if the firmware reports none.
    pub packages: Vec<Package>,
    /// NUMA nodes by number. There is at least one.
    pub nodes: Vec<Node>,
    /// Last-level caches, in hwloc's order; empty if the caches are unknown.
    pub llcs: Vec<Llc>,
    /// Cores, in hwloc's order: neighbours in the machine are neighbours here.
    pub cores: Vec<Core>,
    /// Online CPUs by number.
    pub cpus: Vec<Cpu>,
    /// CPUs that exist but are not online. The kernel only reports their numbers. (In an XML file
    /// exported from inside a cpuset, this includes the CPUs outside that cpuset.)
    pub offline: CpuSet,
    /// NICs by name. Only interfaces with a device behind them: bonds, bridges, VLANs, veth,
    /// dummies and the loopback have no place in the machine, and are not listed.
    pub nics: Vec<Nic>,
}

/// Where a [`Machine`] came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The machine this program runs on.
    Live,
    /// An hwloc XML file.
    Xml(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Live => f.write_str("this machine"),
            Source::Xml(path) => path.display().fmt(f),
        }
    }
}

/// A physical package (socket).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// The OS's number for it.
    pub id: Option<u32>,
    /// The CPU model, as the vendor writes it.
    pub model: Option<String>,
    /// Its online CPUs.
    pub cpus: CpuSet,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The OS's number for it.
    pub id: u32,
    /// Its online CPUs; empty for a memory tier without CPUs (CXL, HBM, persistent memory).
    pub cpus: CpuSet,
    /// Its memory in bytes, huge pages included; `None` if unknown or if it has none.
    pub memory_bytes: Option<u64>,
    /// Relative memory latency to every node, including itself, by node number. The unit is the
    /// firmware's: local is 10.
    pub distances: Option<BTreeMap<u32, u32>>,
}

/// A last-level cache: the outermost data or unified cache of its CPUs, from L2 upwards. It is the
/// L3 on most machines, and the L2 where there is no L3. A cache of a single core counts if there
/// is no cache above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Llc {
    /// 2 for L2, 3 for L3 …
    pub level: u8,
    /// Its size in bytes.
    pub size_bytes: Option<u64>,
    /// The online CPUs it serves.
    pub cpus: CpuSet,
    /// The nodes of those CPUs, by number. There are several with sub-NUMA clustering.
    pub nodes: BTreeSet<u32>,
}

/// A physical core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    /// The OS's number for it. It is unique only within its package, often with gaps.
    pub id: Option<u32>,
    /// Its online CPUs: more than one with SMT.
    pub cpus: CpuSet,
}

/// An online CPU (hardware thread).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// The OS's number for it.
    pub id: u32,
    /// Index in [`Machine::cores`]. If hwloc sees no cores, every CPU is its own core.
    pub core: usize,
    /// Index in [`Machine::llcs`].
    pub llc: Option<usize>,
    /// Number of its node.
    pub node: Option<u32>,
    /// Index in [`Machine::packages`].
    pub package: Option<usize>,
}

impl Machine {
    /// The online CPU with this number.
    pub fn cpu(&self, id: u32) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok().map(|index| &self.cpus[index])
    }

    /// The node with this number.
    pub fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// The NIC whose interface has this name.
    pub fn nic(&self, name: &str) -> Option<&Nic> {
        self.nics.iter().find(|nic| nic.name == name)
    }

    /// All online CPUs.
    pub fn online_cpus(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| cpu.id).collect()
    }

    /// The online CPUs of `cpu`'s core, including `cpu` itself; `None` if it is not online.
    pub fn siblings(&self, cpu: u32) -> Option<&CpuSet> {
        self.cpu(cpu).map(|cpu| &self.cores[cpu.core].cpus)
    }

    /// The last-level cache of `cpu`. `None` if it is not online or its caches are unknown.
    pub fn llc_of(&self, cpu: u32) -> Option<&Llc> {
        self.cpu(cpu)?.llc.map(|llc| &self.llcs[llc])
    }

    /// The nodes that have online CPUs.
    pub fn nodes_with_cpus(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| !node.cpus.is_empty())
    }
}
