//! RPC latency: the share of RPCs answered within a time, per arm, all rounds together. Time is
//! logarithmic, and so is the share of those still waiting: the tail would be invisible otherwise.

use anyhow::Result;
use hdrhistogram::Histogram;
use maud::{Markup, html};

use super::scale::{Linear, Log};
use super::svg::{self, Anchor, arm_class};
use crate::result::{AbResult, Sample};
use crate::traffic::client::{ClientReport, decode_histogram};

const WIDTH: f64 = 1024.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 48.0;

/// Shares that are labelled, as far as there are samples.
const SHARES: [(f64, &str); 6] = [
    (0.0, "0 %"),
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
];

/// The latencies of one arm.
struct Curve {
    arm: String,
    index: usize,
    /// Microseconds and the share answered within them.
    points: Vec<(f64, f64)>,
}

/// The latency curves of a world.
pub(super) fn cdf(result: &AbResult, world: &str, arms: &[&String]) -> Markup {
    let curves: Result<Vec<Curve>> = arms
        .iter()
        .enumerate()
        .map(|(index, arm)| {
            let samples = result.raw.iter().filter(|s| s.world == world && s.arm == **arm);
            Ok(Curve { arm: arm.to_string(), index, points: points(&merged(samples)?) })
        })
        .collect();
    match curves {
        Ok(mut curves) => {
            curves.retain(|curve| !curve.points.is_empty());
            if curves.is_empty() {
                return html! { p.note { "No latencies of single RPCs are known in this world." } };
            }
            drawing(&curves)
        }
        Err(error) => html! { p.note { "The latencies cannot be drawn: " (error) } },
    }
}

/// All latencies of some samples in one histogram, in nanoseconds.
fn merged<'a>(samples: impl Iterator<Item = &'a Sample>) -> Result<Histogram<u64>> {
    let mut all = Histogram::new(3)?;
    for sample in samples {
        let report: ClientReport = serde_json::from_value(sample.client.clone())?;
        if let Some(histogram) = report.rpc.and_then(|rpc| rpc.histogram) {
            all.add(decode_histogram(&histogram)?)?;
        }
    }
    Ok(all)
}

fn points(latencies: &Histogram<u64>) -> Vec<(f64, f64)> {
    /// Points for each halving of those still waiting: enough for a smooth line.
    const FINENESS: u32 = 16;
    if latencies.is_empty() {
        return Vec::new();
    }
    let steps = latencies.iter_quantiles(FINENESS);
    // The last step is the maximum, where nobody waits any more and the logarithm ends.
    let steps = steps.map(|step| (step.value_iterated_to(), step.quantile_iterated_to()));
    steps.filter(|&(_, share)| share < 1.0).map(|(ns, share)| (ns as f64 / 1e3, share)).collect()
}

/// How high a share is drawn: one unit for every factor of ten fewer that still wait.
fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

fn drawing(curves: &[Curve]) -> Markup {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let (low, high) =
        all().fold((f64::INFINITY, 0.0f64), |(l, h), &(us, _)| (l.min(us), h.max(us)));
    let top = all().fold(0.0, |top: f64, &(_, share)| top.max(nines(share)));
    let x = Log::new(low.max(1e-3), high.max(low * 1.01), (LEFT, WIDTH - RIGHT));
    let y = Linear { domain: (0.0, top.min(nines(0.99995))), range: (HEIGHT - BOTTOM, TOP) };
    let bottom = HEIGHT - BOTTOM;
    let legend = curves.iter().map(|curve| (arm_class(curve.index), curve.arm.as_str()));
    let content = html! {
        @for (share, label) in SHARES.into_iter().filter(|&(share, _)| nines(share) <= y.domain.1) {
            @let at = y.at(nines(share));
            (svg::line((LEFT, at), (WIDTH - RIGHT, at), "grid"))
            (svg::text(LEFT - 8.0, at + 4.0, Anchor::End, "tick", label))
        }
        @for tick in x.ticks() {
            @let at = x.at(tick);
            (svg::line((at, TOP), (at, bottom), "grid"))
            (svg::text(at, bottom + 17.0, Anchor::Middle, "tick", &svg::duration(tick)))
        }
        (svg::text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8.0, Anchor::Middle, "note",
            "RPC latency (logarithmic); further left is better"))
        @for curve in curves {
            @let shown = curve.points.iter().filter(|point| nines(point.1) <= y.domain.1);
            path d=(svg::path(shown.map(|&(us, share)| (x.at(us), y.at(nines(share))))))
                class=(format!("curve {}", arm_class(curve.index))) { title { (curve.arm) } }
        }
    };
    html! {
        (svg::legend(legend))
        div.scroll {
            (svg::canvas(WIDTH, HEIGHT, "Share of RPCs answered within a time", content))
        }
    }
}
