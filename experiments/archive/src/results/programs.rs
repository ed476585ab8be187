//! What BPF programs cost, in runs of `steer-bench det --bpf-stats --json`.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use steer_counted::Cost;
use steer_result::archive;
use steer_stats::median;

use super::row::Row;
use super::words;

/// Which programs of which runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Programs {
    /// The file of each arm.
    files: Vec<(String, String)>,
    /// The workload or placement, as in `pipe/one`, and what the page calls it.
    of: String,
    case: String,
    /// The programs to show, each with its instructions per run. If absent, the row shows all
    /// programs together, in instructions per wake-up.
    #[serde(default)]
    each: Vec<String>,
}

impl Programs {
    /// Adds a row for each program, or one for all.
    ///
    /// # Errors
    /// A file cannot be read, or lacks the workload or a program.
    pub(super) fn add_to(&self, rows: &mut Vec<Row>, folder: &Path) -> Result<()> {
        let row = |figure: String| Row { case: self.case.clone(), figure, ..Row::default() };
        let mut all = row("instructions in its BPF programs, per wake-up".to_owned());
        let mut each: Vec<Row> =
            self.each.iter().map(|name| row(format!("instructions per run of {name}"))).collect();
        for (arm, file) in &self.files {
            let path = folder.join(file);
            let place = || path.display().to_string();
            let record = serde_json::from_str(&archive::text(&path)?).with_context(place)?;
            let spans = steer_counted::bpf_costs(&record).with_context(place)?;
            let rounds =
                spans.get(&self.of).with_context(|| format!("{file} has no {}", self.of))?;
            let shown = |values: Vec<f64>| {
                let value = median(&values).map(|value| words::number(value, 0));
                (arm.clone(), value.unwrap_or_else(|| "–".to_owned()))
            };
            let sum = |costs: &Vec<Cost>| costs.iter().map(|cost| cost.instructions).sum();
            all.values.push(shown(rounds.iter().map(sum).collect()));
            for (name, row) in self.each.iter().zip(&mut each) {
                let per_run = |costs: &Vec<Cost>| -> Result<f64> {
                    let cost = costs.iter().find(|cost| cost.name == *name);
                    let cost = cost.with_context(|| format!("{file}: {name} did not run"))?;
                    Ok(cost.instructions / cost.runs)
                };
                row.values.push(shown(rounds.iter().map(per_run).collect::<Result<_>>()?));
            }
        }
        rows.extend(if each.is_empty() { vec![all] } else { each });
        Ok(())
    }
}
