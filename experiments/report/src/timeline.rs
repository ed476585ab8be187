//! What used each CPU at what time: long-flow threads, softirq, RPC threads, or others, per arm.

use maud::{Markup, html};

use super::placement::{self, Placement, layers};
use super::scale::Linear;
use super::svg::{self, Anchor};
use steer_ground::cpus::CpuList;
use steer_result::{CpuShares, Sample};

const LEFT: f64 = 84.0;
const WIDTH: f64 = 1024.0;
const GAP: f64 = 30.0;
const STRIP: f64 = 44.0;
const ROW: f64 = 54.0;
/// Half the width of a label of the axis.
const LABEL: f64 = 12.0;
/// Room above the strips for the arms' names, and below for the axis.
const HEAD: f64 = 24.0;
const FOOT: f64 = 36.0;

/// The timelines of a steering mode, each from its arm's median round.
pub(super) fn timeline(columns: &[Placement<'_>]) -> Markup {
    if columns.is_empty() {
        return html! { p.note { "The observer recorded no timeline." } };
    }
    let rows = columns.iter().map(|column| column.timeline.cpus.len()).max().unwrap_or(0);
    let height = HEAD + ROW * rows as f64 + FOOT;
    let width = (WIDTH - LEFT + GAP) / columns.len() as f64;
    html! {
        (placement::legend())
        div.scroll { (svg::canvas(WIDTH, height, "CPU time by class over time", html! {
            @for (index, column) in columns.iter().enumerate() {
                @let left = LEFT + width * index as f64;
                (draw(column, (left, left + width - GAP), index == 0))
            }
        })) }
    }
}

/// The CPUs local to each NIC, if the observer knows them.
fn nic_cpus(sample: &Sample) -> Vec<CpuList> {
    sample.observe.nics.iter().filter_map(|nic| nic.local_cpus.parse().ok()).collect()
}

fn draw(column: &Placement<'_>, (left, right): (f64, f64), first: bool) -> Markup {
    let intervals = column.timeline.cpus.iter().map(|cpu| cpu.long.len()).max().unwrap_or(0);
    let seconds = intervals as f64 * column.timeline.interval_s;
    let x = Linear { domain: (0.0, seconds), range: (left, right) };
    let bottom = HEAD + ROW * column.timeline.cpus.len() as f64;
    let names = LEFT - 10.0;
    let nics = nic_cpus(column.sample);
    html! {
        text x=(svg::px(left)) y="13" class="name" {
            (column.arm) tspan.note { "  round " (column.sample.round + 1) }
        }
        @for (row, cpu) in column.timeline.cpus.iter().enumerate() {
            @let top = HEAD + ROW * row as f64;
            @let y = Linear { domain: (0.0, 1.0), range: (top + STRIP, top) };
            rect x=(svg::px(left)) y=(svg::px(top)) width=(svg::px(right - left)) height=(STRIP)
                class="strip" {}
            @for (class, area) in areas(cpu, column.timeline.interval_s, x, y) {
                path d=(area) class=(class) {}
            }
            @if first {
                @let nic = nics.iter().any(|list| list.contains(cpu.cpu));
                @let middle = top + STRIP / 2.0;
                @let baseline = if nic { middle - 2.0 } else { middle + 4.0 };
                (svg::text(names, baseline, Anchor::End, "label", &format!("CPU {}", cpu.cpu)))
                @if nic { (svg::text(names, middle + 13.0, Anchor::End, "note", "NIC-local")) }
            }
        }
        @for tick in ticks(seconds) {
            @let at = x.at(f64::from(tick));
            (svg::line((at, bottom - ROW + STRIP), (at, bottom - ROW + STRIP + 4.0), "axis"))
            // The last label must not stick out or touch the next column's first label.
            @let anchor = if at + LABEL > right { Anchor::End } else { Anchor::Middle };
            (svg::text(at, bottom + 10.0, anchor, "tick", &format!("{tick} s")))
        }
    }
}

/// One closed step path per class, stacked. A value counts for its whole interval.
fn areas(cpu: &CpuShares, interval: f64, x: Linear, y: Linear) -> Vec<(&'static str, String)> {
    let mut base = vec![0.0; cpu.long.len()];
    let mut areas = Vec::new();
    for (class, shares) in layers(cpu) {
        let top: Vec<f64> = base.iter().zip(shares).map(|(base, share)| base + share).collect();
        let steps = |levels: &[f64]| -> Vec<(f64, f64)> {
            let step = |(index, &level): (usize, &f64)| {
                let (start, level) = (index as f64 * interval, y.at(level.min(1.0)));
                [(x.at(start), level), (x.at(start + interval), level)]
            };
            levels.iter().enumerate().flat_map(step).collect()
        };
        let back = steps(&base).into_iter().rev();
        areas.push((class, svg::path(steps(&top).into_iter().chain(back)) + "Z"));
        base = top;
    }
    areas
}

/// Whole seconds, at most five of them.
fn ticks(seconds: f64) -> impl Iterator<Item = u32> {
    let last = seconds as u32;
    (0..=last).step_by((last as usize).div_ceil(4).max(1))
}
