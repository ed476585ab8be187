//! Bars: the median of each metric per arm, with every sample as a dot.

use maud::{Markup, html};

use super::scale::Linear;
use super::svg::{self, Anchor, arm_class};
use steer_result::Mode;
use steer_result::metrics;
use steer_result::metrics::{Better, Metric};

/// The metrics that are drawn, at most five to a row. The table has all metrics.
const ROWS: &[(&str, &[&str])] = &[
    (
        "Where long flows run",
        &["local_share", "home_share", "llc_share", "mixed_share", "mixed_share_with_softirq"],
    ),
    (
        "What it costs the host",
        &["throughput_per_core", "rpcs_per_cpu_second", "migrations", "switches"],
    ),
    ("What the whole host uses", &["throughput_per_cpu", "cpus_used"]),
    ("What clients get", &["long_bytes_per_s", "rpc_rate", "rpc_p50", "rpc_p99"]),
];

const WIDTH: f64 = 245.0;
const BAR: f64 = 14.0;
const STEP: f64 = 22.0;
/// Least width of a bar, so that a small value is still visible.
const LEAST: f64 = 1.0;
/// Room above the bars for the name of the metric.
const HEAD: f64 = 36.0;
/// Room for the arms' names, and for the values.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 50.0;

/// The bars of a steering mode.
pub(super) fn bars(mode: &Mode) -> Markup {
    html! {
        @for (heading, names) in ROWS {
            @let metrics = names.iter().filter_map(|name| metrics::find(name));
            @let metrics: Vec<_> = metrics.filter(|metric| mode.has(metric)).collect();
            @if !metrics.is_empty() {
                h4 { (heading) }
                div.grid { @for metric in metrics { (chart(metric, mode)) } }
            }
        }
    }
}

fn chart(metric: &Metric, mode: &Mode) -> Markup {
    let arms = mode.arms.iter().filter_map(|(arm, metrics)| Some((arm, metrics.get(metric.name)?)));
    let arms: Vec<_> = arms.collect();
    // Shares end at 1; other bars end at the largest sample.
    let samples = arms.iter().flat_map(|(_, summary)| summary.samples.iter().flatten());
    let most = if metric.unit.is_empty() { 1.0 } else { samples.fold(0.0, |m: f64, &v| m.max(v)) };
    let scale = Linear { domain: (0.0, most), range: (LEFT, WIDTH - RIGHT) };
    let height = HEAD + STEP * arms.len() as f64;
    let better = match metric.better {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
    };
    let unit = if metric.unit.is_empty() { String::new() } else { format!("{}, ", metric.unit) };
    let label = format!("{}: {}", metric.name, metric.about);
    svg::canvas(
        WIDTH,
        height,
        &label,
        html! {
            title { (label) }
            (svg::text(0.0, 13.0, Anchor::Start, "name", metric.name))
            (svg::text(0.0, 27.0, Anchor::Start, "note", &format!("{unit}{better}")))
            // The axis is drawn first. Otherwise it would hide the bar of a tiny value.
            (svg::line((LEFT, HEAD - 3.0), (LEFT, height - STEP + BAR + 3.0), "axis"))
            @for (index, (arm, summary)) in arms.into_iter().enumerate() {
                @let top = HEAD + STEP * index as f64;
                @let middle = top + BAR / 2.0;
                (svg::text(LEFT - 6.0, middle + 4.0, Anchor::End, "label", arm))
                @if let Some(median) = summary.median {
                    @let width = scale.at(median) - LEFT;
                    @let width = svg::px(if median > 0.0 { width.max(LEAST) } else { 0.0 });
                    rect x=(svg::px(LEFT)) y=(svg::px(top)) width=(width) height=(BAR) rx="2"
                        class=(arm_class(index)) {}
                }
                @for sample in summary.samples.iter().flatten() {
                    @let x = svg::px(scale.at(*sample));
                    circle cx=(x) cy=(svg::px(middle)) r="2.4" class="dot" {}
                }
                @let value = summary.median.map_or("unknown".into(), |median| metric.show(median));
                (svg::text(WIDTH - RIGHT + 8.0, middle + 4.0, Anchor::Start, "value", &value))
            }
        },
    )
}
