//! What was done in each stage of a load that shifts, by arm.

use super::types::AbResult;
use steer_stats::median;
use steer_traffic::client::{ClientReport, StageReport};

/// A figure of a stage.
pub struct StageFigure {
    /// What went on, as `workload` says it.
    pub stage: String,
    /// What the figure is, with its unit.
    pub about: &'static str,
    /// The median of each arm, in the order of the world's; `None` where a sample lacks it.
    pub medians: Vec<Option<f64>>,
}

/// Where a stage has a figure, if it has.
type Of = fn(&StageReport) -> Option<f64>;

const FIGURES: [(&str, Of); 3] = [
    ("long flows, MB/s", |stage| {
        let bytes = stage.long_bytes.filter(|_| stage.long_flows > 0)?;
        Some(bytes as f64 / 1e6 / stage.duration_s)
    }),
    ("RPCs, /s", |stage| {
        (stage.rpc_connections > 0).then(|| stage.rpc_count as f64 / stage.duration_s)
    }),
    ("RPC p99, ms", |stage| Some(stage.rpc_p99_us.filter(|_| stage.rpc_connections > 0)? / 1e3)),
];

/// The figures of a world's stages; none where the load did not shift. A figure that no arm has is
/// left out: there was nothing of that kind in the stage.
pub fn stage_figures(result: &AbResult, world: &str) -> Vec<StageFigure> {
    let Some(arms) = result.worlds.get(world).map(|world| world.arms.keys()) else {
        return Vec::new();
    };
    let reports = |arm: &String| -> Vec<&ClientReport> {
        let samples = result.raw.iter().filter(|s| s.world == world && s.arm == *arm);
        samples.map(|sample| &sample.client).collect()
    };
    let arms: Vec<Vec<&ClientReport>> = arms.map(reports).collect();
    let figure = |number: usize, about, of: Of| {
        let value = |report: &&ClientReport| of(report.stages.get(number)?);
        let medians = arms.iter().map(|reports| {
            let known: Option<Vec<f64>> = reports.iter().map(value).collect();
            median(&known?)
        });
        StageFigure {
            stage: result.workload.stages[number].clone(),
            about,
            medians: medians.collect(),
        }
    };
    let stages = 0..result.workload.stages.len();
    let all = stages.flat_map(|number| FIGURES.map(|(about, of)| figure(number, about, of)));
    all.filter(|figure| figure.medians.iter().any(Option::is_some)).collect()
}
