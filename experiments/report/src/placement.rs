//! What used each CPU in an arm's typical round: the one nearest its median throughput per core. The
//! timeline and the drawing of the machine show this.

use maud::Markup;

use super::svg;
use steer_result::{AbResult, CpuShares, Sample, Timeline};

/// One arm in its typical round.
pub(super) struct Placement<'a> {
    pub(super) arm: &'a str,
    pub(super) sample: &'a Sample,
    pub(super) timeline: &'a Timeline,
}

/// A CPU's classes from the bottom up. Softirq lies beside the long flows that it feeds.
pub(super) fn layers(cpu: &CpuShares) -> [(&'static str, &[f64]); 4] {
    [("long", &cpu.long), ("softirq", &cpu.softirq), ("short", &cpu.short), ("other", &cpu.other)]
}

/// Mean shares over the whole time, in the same order.
pub(super) fn means(cpu: &CpuShares) -> [(&'static str, f64); 4] {
    layers(cpu).map(|(class, shares)| (class, mean(shares)))
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

/// The arms of a steering mode whose observer recorded a timeline.
pub(super) fn placements<'a>(
    result: &'a AbResult,
    mode: &str,
    arms: &[&'a String],
) -> Vec<Placement<'a>> {
    let placement = |arm: &&'a String| {
        let sample = result.typical(mode, arm)?;
        let timeline = sample.observe.timeline.as_ref()?;
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
