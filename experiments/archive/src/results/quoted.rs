//! Figures that no result has: quoted from a run's README, or counted from its list of intervals.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use indexmap::IndexMap;
use serde::Deserialize;
use steer_result::archive;
use steer_stats::Ratio;

use super::row::{Outcome, Row, Side};
use super::words;

/// Figures that only the README records. The README must contain each of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quoted {
    /// Rounds, according to the README.
    pub(super) rounds: usize,
    #[serde(rename = "row")]
    rows: Vec<QuotedRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotedRow {
    #[serde(default)]
    case: String,
    figure: String,
    /// By arm, as written in the README.
    values: Vec<(String, String)>,
    /// By pair of arms: median, and the ends of the 95 % interval.
    #[serde(default)]
    ratios: Vec<(String, f64, f64, f64)>,
    better: Side,
}

impl Quoted {
    /// The figures.
    ///
    /// # Errors
    /// The README lacks one of them.
    pub(super) fn rows(&self, folder: &Path) -> Result<Vec<Row>> {
        let path = folder.join("README.md");
        let place = path.display();
        let readme = fs::read_to_string(&path).with_context(|| format!("cannot read {place}"))?;
        let row = |quoted: &QuotedRow| -> Result<Row> {
            let ratio = |(pair, median, lo, hi): &(String, f64, f64, f64)| {
                let ratio = Ratio { median: *median, lo: *lo, hi: *hi };
                (pair.replace('/', " / "), Outcome::of(ratio, quoted.better.into()))
            };
            let row = Row {
                case: quoted.case.clone(),
                steering: String::new(),
                figure: quoted.figure.clone(),
                values: quoted.values.clone(),
                ratios: quoted.ratios.iter().map(ratio).collect(),
            };
            let ratios = row.ratios.iter().map(|(_, outcome)| outcome.ratio.to_string());
            for figure in row.values.iter().map(|(_, value)| value.clone()).chain(ratios) {
                ensure!(readme.contains(&figure), "{place} does not say {figure}");
            }
            Ok(row)
        };
        self.rows.iter().map(row).collect()
    }
}

/// Intervals between equal arms: by seed and metric `[median, low, high]`, or null.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Equal {
    file: String,
}

impl Equal {
    /// Adds how many intervals include 1, per metric and in all. Returns the number of runs.
    ///
    /// # Errors
    /// The file cannot be read, or has something else.
    pub(super) fn add_to(&self, rows: &mut Vec<Row>, folder: &Path) -> Result<usize> {
        type Seeds = IndexMap<String, IndexMap<String, Option<[f64; 3]>>>;
        let path = folder.join(&self.file);
        let seeds: Seeds = serde_json::from_str(&archive::text(&path)?)
            .with_context(|| path.display().to_string())?;
        let mut metrics: IndexMap<&str, (usize, usize)> = IndexMap::new();
        for (metric, interval) in seeds.values().flatten() {
            let (include, all) = metrics.entry(metric).or_default();
            if let Some([median, lo, hi]) = *interval {
                *all += 1;
                *include += usize::from(!Ratio { median, lo, hi }.excludes_one());
            }
        }
        let row = |figure: String, (include, all): (usize, usize)| Row {
            figure,
            values: vec![("intervals that include 1".to_owned(), format!("{include} of {all}"))],
            ..Row::default()
        };
        let sum = metrics.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        rows.push(row("all metrics".to_owned(), sum));
        for (name, counts) in metrics.into_iter().filter(|(_, (include, all))| include < all) {
            rows.push(row(words::find(name).map_or(name.to_owned(), words::name), counts));
        }
        Ok(seeds.len())
    }
}
