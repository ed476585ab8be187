//! What used each CPU in an arm's most typical round. The timeline and the drawing of the machine
//! show this.

use maud::Markup;
use serde::Deserialize;

use super::svg;
use steer_result::{AbResult, Sample};

/// One arm in the round nearest its median throughput per core.
pub(super) struct Placement<'a> {
    pub(super) arm: &'a str,
    pub(super) sample: &'a Sample,
    pub(super) timeline: Timeline,
}

/// The observer's timeline of each CPU.
#[derive(Debug, Deserialize)]
pub(super) struct Timeline {
    /// Seconds per value.
    pub(super) interval_s: f64,
    pub(super) cpus: Vec<Cpu>,
}

/// Shares of each interval, 0 to 1. The CPU was idle for the rest of the interval.
#[derive(Debug, Deserialize)]
pub(super) struct Cpu {
    pub(super) cpu: usize,
    pub(super) long: Vec<f64>,
    pub(super) short: Vec<f64>,
    pub(super) other: Vec<f64>,
    pub(super) softirq: Vec<f64>,
}

impl Cpu {
    /// The classes from the bottom up. Softirq lies beside the long flows that it feeds.
    pub(super) fn layers(&self) -> [(&'static str, &[f64]); 4] {
        [
            ("long", &self.long),
            ("softirq", &self.softirq),
            ("short", &self.short),
            ("other", &self.other),
        ]
    }

    /// Mean shares over the whole time, in the same order.
    pub(super) fn means(&self) -> [(&'static str, f64); 4] {
        self.layers().map(|(class, shares)| (class, mean(shares)))
    }
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

/// The arms of a steering mode whose observer recorded a timeline.
pub(super) fn placements<'a>(
    result: &'a AbResult,
    world: &str,
    arms: &[&'a String],
) -> Vec<Placement<'a>> {
    let placement = |arm: &&'a String| {
        let sample = median_sample(result, world, arm)?;
        let timeline = serde_json::from_value(sample.observe.get("timeline")?.clone()).ok()?;
        Some(Placement { arm: arm.as_str(), sample, timeline })
    };
    arms.iter().filter_map(placement).collect()
}

/// What the colours of the classes mean.
pub(super) fn legend() -> Markup {
    let classes = [
        ("long", "long-flow threads"),
        ("softirq", "softirq"),
        ("short", "RPC threads"),
        ("other", "everything else"),
    ];
    svg::legend(classes.map(|(class, name)| (class.to_string(), name)))
}

/// The sample of an arm that is nearest to its median throughput per core, or else its first.
fn median_sample<'a>(result: &'a AbResult, world: &str, arm: &str) -> Option<&'a Sample> {
    let median = result.worlds.get(world)?.median(arm, "throughput_per_core");
    let distance = |sample: &&Sample| {
        let value = sample.observe.get("throughput_per_core")?.as_f64()?;
        Some((value - median?).abs())
    };
    let samples = result.raw.iter().filter(|s| s.world == world && s.arm == arm);
    samples.min_by(|a, b| {
        let far = f64::INFINITY;
        distance(a).unwrap_or(far).total_cmp(&distance(b).unwrap_or(far))
    })
}
