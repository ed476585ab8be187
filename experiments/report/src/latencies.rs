//! RPC latency: the share of RPCs answered within a time, per arm, all rounds together. Both axes
//! are logarithmic (time, and the share of RPCs still waiting), so that the tail is visible.

use anyhow::Result;
use hdrhistogram::Histogram;
use maud::{Markup, html};

use super::curves::{Axes, curves, of_arms};
use super::svg;
use steer_result::AbResult;
use steer_traffic::client::{ClientReport, decode_histogram};

const AXES: Axes<'_> = Axes {
    label: "Share of RPCs answered within a time",
    values: "RPC latency (logarithmic); further left is better",
    value: svg::duration,
    height: nines,
    highest: 0.99995,
    shares: &[
        (0.0, "0 %"),
        (0.5, "50 %"),
        (0.9, "90 %"),
        (0.99, "99 %"),
        (0.999, "99.9 %"),
        (0.9999, "99.99 %"),
    ],
};

/// The latency curves of a steering mode.
pub(super) fn latencies(result: &AbResult, mode: &str) -> Markup {
    match of_arms(result, mode, |reports| Ok(points(&merged(reports)?))) {
        Ok(arms) if arms.is_empty() => html! {
            p.note { "The latencies of single RPCs were not recorded in this steering mode." }
        },
        Ok(arms) => curves(&arms, &AXES),
        Err(error) => html! { p.note { "The latencies cannot be drawn: " (error) } },
    }
}

/// All latencies of some samples in one histogram, in nanoseconds.
fn merged(reports: Vec<&ClientReport>) -> Result<Histogram<u64>> {
    let mut all = Histogram::new(3)?;
    for histogram in
        reports.into_iter().filter_map(|report| report.rpc.as_ref()?.histogram.as_ref())
    {
        all.add(decode_histogram(histogram)?)?;
    }
    Ok(all)
}

fn points(latencies: &Histogram<u64>) -> Vec<(f64, f64)> {
    /// Points for each halving of the number of waiting RPCs: enough for a smooth line.
    const FINENESS: u32 = 16;
    if latencies.is_empty() {
        return Vec::new();
    }
    let steps = latencies.iter_quantiles(FINENESS);
    // The last step is the maximum: no RPC waits any more, and the logarithm of 0 does not exist.
    let steps = steps.map(|step| (step.value_iterated_to(), step.quantile_iterated_to()));
    steps
        .filter(|&(ns, share)| ns > 0 && share < 1.0)
        .map(|(ns, share)| (ns as f64 / 1e3, share))
        .collect()
}

/// How high a share is drawn: one unit up, ten times fewer RPCs that still wait.
fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}
