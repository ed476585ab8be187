//! What was done in each stage of a shifting load, by arm.

use super::types::AbResult;
use steer_stats::median;
use steer_traffic::client::{ClientReport, StageReport};

/// A figure of a stage.
pub struct StageFigure {
    /// The load of the stage, as in `workload`.
    pub stage: String,
    /// What the figure is, with its unit.
    pub about: &'static str,
    /// The median of each arm, in the mode's order of arms; `None` if a sample lacks it.
    pub medians: Vec<Option<f64>>,
}

/// Reads a figure of a stage, if it has one.
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

/// The figures of all stages in a steering mode; empty if the load did not shift. Leaves out a
/// figure that no arm has: the stage had no such traffic.
pub fn stage_figures(result: &AbResult, mode: &str) -> Vec<StageFigure> {
    let Some(arms) = result.modes.get(mode).map(|mode| mode.arms.keys()) else {
        return Vec::new();
    };
    let reports = |arm: &String| -> Vec<&ClientReport> {
        let samples = result.raw.iter().filter(|s| s.mode == mode && s.arm == *arm);
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
