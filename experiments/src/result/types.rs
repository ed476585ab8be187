//! The types of `result.json`, version 1. Their comments are the descriptions in its JSON Schema.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cpu::CpuRecord;
use super::metrics::{METRICS, Metric};
use super::topology::Topology;
use crate::stats::Ratio;
use crate::traffic::long::{Direction, Reads};

/// The result of one A/B run: the same workload under several arms, interleaved, in one or more
/// steering worlds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Result of steer-bench ab, version 1")]
pub(crate) struct AbResult {
    /// Format of this file.
    #[schemars(extend("const" = 1))]
    pub(crate) version: u32,
    /// The arm that is compared with each of the others.
    pub(crate) subject: String,
    /// The pair of arms that are the same, like `again/default`: its ratios show what chance does.
    /// Absent where no arm was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) equal: Option<String>,
    /// Rounds in which every arm was measured, in the world that has fewest of them.
    pub(crate) pairs: usize,
    /// The command line that made this file.
    pub(crate) command: Vec<String>,
    /// Seed of the order of the arms and of the source ports.
    pub(crate) seed: u64,
    /// The machine that was measured.
    pub(crate) environment: Environment,
    /// Where its CPUs and its NIC's queues are; absent where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) topology: Option<Topology>,
    /// The traffic and what ran beside it.
    pub(crate) workload: Workload,
    /// What was found, by name of the steering world (`auto`, `hash`, `explicit`, `spread`;
    /// `host` for a host, as it is set up).
    pub(crate) worlds: IndexMap<String, World>,
    /// Reasons to doubt a figure, and what to do about them.
    pub(crate) warnings: Vec<String>,
    /// Every sample as it was taken; all figures in `worlds` follow from these.
    pub(crate) raw: Vec<Sample>,
}

impl AbResult {
    /// The format this program writes and reads.
    pub(crate) const VERSION: u32 = 1;

    /// The arms other than the subject, but not one that repeats another.
    pub(crate) fn others(&self) -> Vec<&str> {
        let arms = self.worlds.values().next().into_iter().flat_map(|world| world.arms.keys());
        let again = self.equal.as_deref().and_then(|pair| pair.split_once('/'));
        let not = [Some(self.subject.as_str()), again.map(|(again, _)| again)];
        arms.map(String::as_str).filter(|arm| !not.contains(&Some(arm))).collect()
    }

    /// The metrics that some sample has.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        METRICS.iter().filter(|metric| self.worlds.values().any(|world| world.has(metric)))
    }
}

/// What the run is about, known before the first sample.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    /// The arm that is compared with each of the others.
    pub(crate) subject: String,
    /// All arms, in the order to show them.
    pub(crate) arms: Vec<String>,
    /// The pair of arms that are the same, if one is repeated.
    pub(crate) equal: Option<String>,
    /// The command line of the run.
    pub(crate) command: Vec<String>,
    /// Seed of the order of the arms and of the source ports.
    pub(crate) seed: u64,
    /// The machine that is measured.
    pub(crate) environment: Environment,
    /// Where its CPUs and its NIC's queues are.
    pub(crate) topology: Option<Topology>,
    /// The traffic and what runs beside it.
    pub(crate) workload: Workload,
    /// Doubts that are known already.
    pub(crate) warnings: Vec<String>,
}

/// The machine that was measured. What is unknown is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Environment {
    /// When the run began: RFC 3339, UTC.
    pub(crate) started: Option<String>,
    /// What runs the guest's instructions: `tcg` (emulation) or `kvm`; null on bare metal.
    pub(crate) accelerator: Option<String>,
    /// Release of the measured kernel.
    pub(crate) kernel: Option<String>,
    /// Package the measured kernel came from, with its version.
    pub(crate) kernel_package: Option<String>,
    /// Sockets × cores × threads of the measured machine, like `2x2x1`.
    pub(crate) shape: Option<String>,
    /// CPUs of the measured machine.
    pub(crate) cpus: Option<u32>,
    /// NUMA node the NIC hangs on: of several, the first.
    pub(crate) nic_node: Option<u32>,
    /// CPUs local to that NIC, as a list like `2-3`.
    pub(crate) nic_cpus: Option<String>,
    /// How the IOMMU treats the NIC's memory accesses, as the type of its group in sysfs: `DMA` and
    /// `DMA-FQ` translate them, `identity` lets them pass; `none` where the NIC is in no group, so
    /// that no IOMMU is in use. Null where that was not recorded, or the NIC is no PCI device.
    pub(crate) nic_iommu: Option<String>,
    /// What the subject says it is: name and version.
    pub(crate) subject_version: Option<String>,
    /// Processor of the machine that drives the traffic, and hosts the guest where there is one.
    pub(crate) host_cpu: Option<String>,
    /// CPUs of that machine.
    pub(crate) host_cpus: Option<u32>,
    /// Release of that machine's kernel.
    pub(crate) host_kernel: Option<String>,
    /// Version of the emulator.
    pub(crate) qemu: Option<String>,
    /// Anything else worth recording.
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

impl Environment {
    /// What this machine cannot show, if there is such a thing.
    pub(crate) fn caveat(&self) -> Option<&'static str> {
        const TCG: &str = "Measured under TCG emulation, which prices neither caches nor remote \
            memory: throughput per core here is evidence of instructions and context switches \
            saved, never of cache or NUMA gains. Absolute values are those of an emulator.";
        (self.accelerator.as_deref() == Some("tcg")).then_some(TCG)
    }
}

/// The traffic and what ran beside it, the same in every arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Workload {
    /// Long flows.
    pub(crate) long_flows: u32,
    /// Rate of each, as given on the command line, like `40Mbit`.
    pub(crate) long_rate: String,
    /// Program that sent the long flows: `builtin` or `iperf3`.
    pub(crate) long_tool: String,
    /// Which way the long flows went; `in` where it is absent.
    #[serde(default)]
    pub(crate) long_direction: Direction,
    /// What the measured machine did with the payload that came in; `copy` where it is absent.
    #[serde(default)]
    pub(crate) long_reads: Reads,
    /// Whether the long flows were to be sent without a copy (MSG_ZEROCOPY); not where it is absent.
    #[serde(default)]
    pub(crate) long_zerocopy: bool,
    /// RPC connections, each with one request outstanding.
    pub(crate) rpc_connections: u32,
    /// RPCs per second that were asked for, of all connections together and in turns; where it is absent
    /// each connection asked as soon as it had its reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rpc_rate: Option<u32>,
    /// Size of every request and reply, as given on the command line, like `4KiB`.
    pub(crate) rpc_size: String,
    /// Server threads that share the RPC connections.
    pub(crate) rpc_threads: u32,
    /// Programs that served the RPCs and asked for them: `builtin`, `redis` (asked by
    /// redis-benchmark), `nginx` (by wrk) or `memcached` (by our client); `builtin` where it is absent.
    #[serde(default = "builtin")]
    pub(crate) rpc_tool: String,
    /// CPUs each hog was bound to, one list per hog; per set of hogs, where `stages` says how many
    /// there were.
    pub(crate) hogs: Vec<String>,
    /// How the load shifted within each sample, in parts of equal length, like `long-flows=2
    /// rpc-connections=16 hogs=1` (hogs for each list of CPUs); absent where it did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) stages: Vec<String>,
    /// Seconds of traffic before each sample.
    pub(crate) warmup_s: f64,
    /// Seconds of each sample.
    pub(crate) duration_s: f64,
    /// Anything else worth recording.
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

fn builtin() -> String {
    "builtin".to_owned()
}

/// One arm measured once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Sample {
    /// Steering world.
    pub(crate) world: String,
    /// Arm.
    pub(crate) arm: String,
    /// Round, from 0; samples of one world and round are compared with each other.
    pub(crate) round: u32,
    /// Position of the arm within the round, from 0; drawn at random.
    pub(crate) order: u32,
    /// First source port of the client, the same for all arms of the round.
    pub(crate) source_port: u16,
    /// What the observer on the measured machine printed.
    pub(crate) observe: Value,
    /// What the client printed.
    pub(crate) client: Value,
    /// Spins of the hogs per second: work of a fixed size that needs nothing but a CPU. Absent where
    /// there were no hogs, or they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hog_rate: Option<f64>,
    /// What all CPUs of the measured machine did in the same time; absent where that was not
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<CpuRecord>,
}

/// One steering world.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct World {
    /// By arm, then by metric; `x-metrics` of this schema says what each metric is. Metrics of a
    /// part that no sample has are left out.
    pub(crate) arms: IndexMap<String, IndexMap<String, Summary>>,
    /// By metric, then by pair of arms, like `scx_steer/default`; last comes the pair of equal arms,
    /// if there is one. Null when a sample lacks the
    /// metric, the reference is zero, or there are fewer than two pairs.
    pub(crate) ratios: IndexMap<String, IndexMap<String, Option<Ratio>>>,
}

impl World {
    /// The pairs of arms that have ratios, like `scx_steer/default`.
    pub(crate) fn pairs(&self) -> Vec<&String> {
        self.ratios.values().next().into_iter().flat_map(IndexMap::keys).collect()
    }

    /// Whether some sample has a metric.
    pub(crate) fn has(&self, metric: &Metric) -> bool {
        let summaries = self.arms.values().filter_map(|metrics| metrics.get(metric.name));
        summaries.flat_map(|summary| &summary.samples).any(Option::is_some)
    }

    /// The metrics that some sample has, in the order to show them.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        METRICS.iter().filter(|metric| self.has(metric))
    }

    /// A pair's ratio of a metric, when it has one.
    pub(crate) fn ratio(&self, metric: &str, pair: &str) -> Option<Ratio> {
        *self.ratios.get(metric)?.get(pair)?
    }

    /// An arm's median of a metric, when it has one.
    pub(crate) fn median(&self, arm: &str, metric: &str) -> Option<f64> {
        self.arms.get(arm)?.get(metric)?.median
    }
}

/// One metric of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Summary {
    /// Median of the samples; null when one of them is null.
    pub(crate) median: Option<f64>,
    /// By round; null where the metric could not be measured.
    pub(crate) samples: Vec<Option<f64>>,
}
