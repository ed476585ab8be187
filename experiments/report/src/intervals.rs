//! Ratios of the main arm to each other arm with their 95 % intervals, all metrics on one axis.

use maud::{Markup, html};

use super::scale::Log;
use super::svg::{self, Anchor};
use steer_result::Mode;
use steer_result::metrics::Metric;
use steer_stats::Ratio;

const NAMES: f64 = 165.0;
const PANEL: f64 = 430.0;
/// Room inside a panel for the figures on its right.
const FIGURES: f64 = 140.0;
const ROW: f64 = 22.0;
/// Room above the rows for the panel's name, and below for the axis.
const HEAD: f64 = 26.0;
const FOOT: f64 = 40.0;
/// The axis spans all intervals, but at most this. Intervals beyond it are cut at its ends; the
/// figures beside them are exact.
const WIDEST: (f64, f64) = (0.02, 50.0);
/// The axis is never narrower than this.
const NARROWEST: (f64, f64) = (0.5, 2.0);

/// The ratios of a steering mode: a panel per other arm.
pub(super) fn intervals(mode: &Mode) -> Markup {
    let pairs = mode.pairs();
    let rows = mode.metrics().count() as f64;
    let width = NAMES + PANEL * pairs.len() as f64;
    let height = HEAD + ROW * rows + FOOT;
    svg::canvas(
        width,
        height,
        "Ratios with 95 % intervals",
        html! {
            @for (row, metric) in mode.metrics().enumerate() {
                @let y = HEAD + ROW * (row as f64 + 0.5);
                @if row % 2 == 0 {
                    @let top = svg::px(y - ROW / 2.0);
                    rect x="0" y=(top) width=(width) height=(ROW) class="stripe" {}
                }
                (svg::text(6.0, y + 4.0, Anchor::Start, "label", metric.name))
            }
            @for (index, pair) in pairs.into_iter().enumerate() {
                (panel(mode, pair, NAMES + PANEL * index as f64))
            }
        },
    )
}

/// The ends of the axis, the same for all panels of a steering mode.
fn domain(mode: &Mode) -> (f64, f64) {
    let ratios = mode.ratios.values().flat_map(|ratios| ratios.values().flatten());
    let ends = ratios.fold(NARROWEST, |(lo, hi), ratio| (ratio.lo.min(lo), ratio.hi.max(hi)));
    (ends.0.max(WIDEST.0), ends.1.min(WIDEST.1))
}

fn panel(mode: &Mode, pair: &str, left: f64) -> Markup {
    let (low, high) = domain(mode);
    let scale = Log::new(low, high, (left + 10.0, left + PANEL - FIGURES));
    let bottom = HEAD + ROW * mode.metrics().count() as f64;
    let middle = scale.at(1.0);
    html! {
        (svg::text(middle, 14.0, Anchor::Middle, "name", pair))
        @for tick in scale.ticks() {
            @let x = scale.at(tick);
            (svg::line((x, HEAD), (x, bottom), if tick == 1.0 { "one" } else { "grid" }))
            (svg::text(x, bottom + 16.0, Anchor::Middle, "tick", &tick.to_string()))
        }
        (svg::text(middle, bottom + 33.0, Anchor::Middle, "note", "times the other arm's value"))
        @for (row, metric) in mode.metrics().enumerate() {
            @let y = HEAD + ROW * (row as f64 + 0.5);
            @let figures = left + PANEL - FIGURES + 12.0;
            (interval(metric, mode.ratio(metric.name, pair), scale, y, figures))
        }
    }
}

fn interval(metric: &Metric, ratio: Option<Ratio>, scale: Log, y: f64, figures: f64) -> Markup {
    let Some(ratio) = ratio else {
        return svg::text(figures, y + 4.0, Anchor::Start, "note", "undefined");
    };
    let class = metric.verdict(ratio).map_or("no-verdict".into(), |verdict| verdict.to_string());
    html! {
        g class=(class) {
            title { (metric.name) ": " (ratio) ", " (class) }
            (svg::line((scale.at(ratio.lo), y), (scale.at(ratio.hi), y), "whisker"))
            // A bar at each end, or an arrow if the interval continues beyond the axis.
            @for (end, inwards) in [(ratio.lo, 5.0), (ratio.hi, -5.0)] {
                @let x = scale.at(end);
                @let from = if scale.holds(end) { x } else { x + inwards };
                @let tip = if scale.holds(end) { from } else { x };
                @for side in [-4.0, 4.0] {
                    (svg::line((from, y + side), (tip, y), "whisker"))
                }
            }
            circle cx=(svg::px(scale.at(ratio.median))) cy=(svg::px(y)) r="4" {}
            (svg::text(figures, y + 4.0, Anchor::Start, "value", &ratio.to_string()))
        }
    }
}
