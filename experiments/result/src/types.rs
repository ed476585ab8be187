//! The types of `result.json`, version 1. The comments of its types are the descriptions in its
//! JSON Schema.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::metrics::{METRICS, Metric};
use super::mode::Mode;
use super::older_warnings;
use super::sample::Sample;
use super::spec::Options;
use super::topology::Topology;
use super::workload::Workload;
use steer_ground::warning::Warning;

/// The result of one A/B run: the same workload under several arms, interleaved, in one or more
/// steering modes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Result of steer-bench ab, version 1")]
pub struct AbResult {
    /// Format of this file.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// The arm that is compared with each of the others.
    #[serde(rename = "subject")]
    pub main_arm: String,
    /// The pair of equal arms, like `again/default`. Its ratios show what chance does. Absent if no
    /// arm was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal: Option<String>,
    /// Rounds in which every arm was measured, in the steering mode with the fewest of them.
    pub pairs: usize,
    /// The command line that made this file.
    pub command: Vec<String>,
    /// The given options by name, without `out`. They show what varies between an experiment's
    /// runs. A switch has no values.
    #[serde(default)]
    pub options: Options,
    /// Seed of the order of the arms and of the source ports.
    pub seed: u64,
    /// The machine that was measured.
    pub environment: Environment,
    /// Where its CPUs and its NIC's queues are; absent if not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// The traffic and what ran beside it.
    pub workload: Workload,
    /// What was found, by steering mode: `auto`, `hash`, `explicit` or `spread` in the lab, `host`
    /// on a host, which steers as it is configured.
    #[serde(rename = "worlds")]
    pub modes: IndexMap<String, Mode>,
    /// Present until all rounds are measured; absent from a complete result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
    /// Warnings: why a figure may be wrong, and what to do.
    #[serde(deserialize_with = "older_warnings::warnings")]
    #[schemars(with = "Vec<older_warnings::Written>")]
    pub warnings: Vec<Warning>,
    /// Every sample. All figures in `worlds` are computed from these.
    pub raw: Vec<Sample>,
}

impl AbResult {
    /// The format this program writes and reads.
    pub const VERSION: u32 = 1;

    /// The arms other than the main one, but not one that repeats another.
    pub fn others(&self) -> Vec<&str> {
        let arms = self.modes.values().next().into_iter().flat_map(|mode| mode.arms.keys());
        let again = self.equal.as_deref().and_then(|pair| pair.split_once('/'));
        let not = [Some(self.main_arm.as_str()), again.map(|(again, _)| again)];
        arms.map(String::as_str).filter(|arm| !not.contains(&Some(arm))).collect()
    }

    /// The sample of an arm that is nearest to its median throughput per core, or else its first.
    pub fn typical(&self, mode: &str, arm: &str) -> Option<&Sample> {
        let median = self.modes.get(mode)?.median(arm, "throughput_per_core");
        let distance =
            |sample: &&Sample| Some((sample.observe.throughput_per_core? - median?).abs());
        let samples = self.raw.iter().filter(|s| s.mode == mode && s.arm == arm);
        samples.min_by(|a, b| {
            let far = f64::INFINITY;
            distance(a).unwrap_or(far).total_cmp(&distance(b).unwrap_or(far))
        })
    }

    /// Its warnings as lines to print, with one about samples that are missing.
    pub fn warning_lines(&self) -> Vec<String> {
        let unfinished = self.unfinished.as_ref().map(|it| {
            let why = it.error.as_ref().map(|error| format!("; it ended with: {error}"));
            let (have, planned) = (self.raw.len(), it.planned);
            format!("unfinished: holds {have} of {planned} samples{}", why.unwrap_or_default())
        });
        unfinished.into_iter().chain(self.warnings.iter().map(ToString::to_string)).collect()
    }

    /// The metrics that some sample has.
    pub fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        METRICS.iter().filter(|metric| self.modes.values().any(|mode| mode.has(metric)))
    }
}

/// How much of a run is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unfinished {
    /// The least number of samples that the run was to take.
    pub planned: usize,
    /// The error that ended the run; absent if it was still running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What is known of a run before its first sample.
#[derive(Debug, Clone, Default)]
pub struct Header {
    /// The arm that is compared with each of the others.
    pub main_arm: String,
    /// All arms, in the order to show them.
    pub arms: Vec<String>,
    /// The pair of arms that are the same, if one is repeated.
    pub equal: Option<String>,
    /// The command line of the run.
    pub command: Vec<String>,
    /// The options that were given.
    pub options: Options,
    /// Seed of the order of the arms and of the source ports.
    pub seed: u64,
    /// The machine that is measured.
    pub environment: Environment,
    /// Where its CPUs and its NIC's queues are.
    pub topology: Option<Topology>,
    /// The traffic and what runs beside it.
    pub workload: Workload,
    /// Set while rounds are still to be measured.
    pub unfinished: Option<Unfinished>,
    /// Warnings that are known already.
    pub warnings: Vec<Warning>,
}
