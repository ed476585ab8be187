//! An experiment across its points, as a page, Markdown and CSV. The page draws each metric by what
//! varies, with one line per arm, beside what papers state.

mod common;
mod figures;
mod lines;
mod marks;
mod page;
mod panel;
mod points;
mod text;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use indexmap::{IndexMap, IndexSet};

use marks::Statement;
use points::{Axis, quantity};
use steer_result::metrics;
use steer_result::metrics::Metric;
use steer_result::spec::Spec;
use steer_result::{AbResult, Mode};

pub(super) use page::page;
pub(super) use text::{csv, markdown};

/// The metrics that are drawn, if the results have them.
const DRAWN: [&str; 18] = [
    "throughput_per_core",
    "throughput_per_cpu",
    "cpus_used",
    "long_bytes_per_s",
    "long_fairness",
    "rpcs_per_cpu_second",
    "rpc_p99",
    "local_share",
    "home_share",
    "llc_share",
    "mixed_share",
    "mixed_share_with_softirq",
    "napi_to_copy_p50",
    "napi_to_copy_p99",
    "skb_size",
    "hog_rate",
    "interrupts",
    "migrations_long",
];

/// What an experiment's results say about its question.
pub(super) struct Experiment {
    spec: Spec,
    points: Vec<Point>,
    /// What varies between the points.
    axis: Axis,
    /// Names of the points that have no result.
    missing: Vec<String>,
}

/// One point.
struct Point {
    name: String,
    result: AbResult,
}

impl Experiment {
    /// Reads the results that `steer-bench run` left in a folder.
    ///
    /// # Errors
    /// The folder is not an experiment's, a result cannot be read, or there is no result.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let place = folder.display();
        let spec = Spec::kept(folder).with_context(|| {
            format!("{place} is not an experiment of `steer-bench run`: name DIR/EXPERIMENT, or a result.json")
        })?;
        let (mut points, mut missing) = (Vec::new(), Vec::new());
        for point in &spec.points {
            let (name, path) = (point.name.clone(), folder.join(&point.name).join("result.json"));
            if path.exists() {
                points.push(Point { name, result: AbResult::read(&path)? });
            } else {
                missing.push(name);
            }
        }
        ensure!(
            !points.is_empty(),
            "no point of {} has a result in {place}; measure them with `steer-bench run`",
            spec.name
        );
        let options = points.iter().map(|point| (point.name.as_str(), &point.result.options));
        let axis = Axis::of(&options.collect::<Vec<_>>());
        let mut labelled: Vec<_> = axis.labels.into_iter().zip(points).collect();
        if labelled.iter().all(|(label, _)| quantity(label).is_some()) {
            labelled.sort_by_key(|(label, _)| quantity(label));
        }
        let (labels, points) = labelled.into_iter().unzip();
        Ok(Self { spec, points, axis: Axis { labels, ..axis }, missing })
    }

    /// The steering modes of all points.
    fn modes(&self) -> IndexSet<&str> {
        self.points.iter().flat_map(|point| point.result.modes.keys().map(String::as_str)).collect()
    }

    /// A steering mode at the points that have it, with their labels.
    fn mode(&self, name: &str) -> Vec<(&str, &Mode)> {
        let labelled = self.axis.labels.iter().zip(&self.points);
        let modes = labelled
            .filter_map(|(label, point)| Some((label.as_str(), point.result.modes.get(name)?)));
        modes.collect()
    }

    /// The metrics to draw for a steering mode.
    fn metrics(&self, mode: &str) -> Vec<&'static Metric> {
        let modes = self.mode(mode);
        let drawn = DRAWN.iter().filter_map(|name| metrics::find(name));
        drawn.filter(|metric| modes.iter().any(|(_, mode)| mode.has(metric))).collect()
    }

    /// What papers state about it.
    fn statements(&self) -> Vec<&'static Statement> {
        marks::of(&self.spec.name)
    }

    /// Version, machine and rounds of the first point, in a line.
    fn machine(&self) -> String {
        let result = &self.points[0].result;
        let machine = &result.environment;
        // Points that were cut short have fewer rounds.
        let rounds = self.points.iter().map(|point| point.result.pairs);
        let least = if rounds.clone().all(|n| n == result.pairs) { "" } else { "at least " };
        let parts = [
            machine.arm_version.clone(),
            machine.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
            machine.shape.as_ref().map(|shape| format!("{shape} CPUs")),
            rounds.min().map(|n| format!("{least}{n} interleaved rounds at each point")),
            machine.started.clone(),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// Why its figures may be wrong: warnings of each point, and differences between points.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.missing.is_empty() {
            warnings.push(format!(
                "not measured: {}; run `steer-bench run` to measure them, or to see why not",
                self.missing.join(", ")
            ));
        }
        let of = |point: &Point| {
            let machine = &point.result.environment;
            // No accelerator means bare metal, not an unknown machine.
            let runs = machine.accelerator.clone().unwrap_or_else(|| "bare metal".to_owned());
            let [kernel, version, shape, cpu] =
                [&machine.kernel, &machine.arm_version, &machine.shape, &machine.host_cpu]
                    .map(|fact| fact.clone().unwrap_or_else(|| "unknown".to_owned()));
            [runs, kernel, version, shape, cpu]
        };
        let (first, others) = (&self.points[0], &self.points[1..]);
        for other in others {
            for (a, b) in of(first).iter().zip(&of(other)).filter(|(a, b)| a != b) {
                warnings.push(format!("{} was measured on {a}, {} on {b}", first.name, other.name));
            }
        }
        // A warning of several points appears once.
        let mut said: IndexMap<String, Vec<&str>> = IndexMap::new();
        for Point { name, result } in &self.points {
            for warning in result.warning_lines() {
                said.entry(warning).or_default().push(name);
            }
        }
        warnings.extend(said.iter().map(|(warning, names)| match names.len() {
            all if all > 1 && all == self.points.len() => format!("all points: {warning}"),
            _ => format!("{}: {warning}", names.join(", ")),
        }));
        warnings
    }

    /// What the machine, and the experiment on it, cannot show.
    fn caveats(&self) -> Vec<&str> {
        self.spec.caveat.as_deref().into_iter().chain(self.machine_caveat()).collect()
    }

    /// What the machine of any point cannot show.
    fn machine_caveat(&self) -> Option<&'static str> {
        self.points.iter().find_map(|point| point.result.environment.caveat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_are_metrics() {
        assert!(DRAWN.iter().all(|name| metrics::find(name).is_some()));
    }
}
