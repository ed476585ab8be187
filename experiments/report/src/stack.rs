//! The CPUs' busy time by category, per arm: stacked bars as in the host-network-stack paper
//! (figure 3(c) and others), and a table.

use indexmap::IndexMap;
use maud::{Markup, html};

use super::scale::Linear;
use super::svg::{self, Anchor};
use steer_measure::{Breakdown, title};
use steer_result::{AbResult, Mode};

const WIDTH: f64 = 1024.0;
const BAR: f64 = 20.0;
const STEP: f64 = 30.0;
/// Room for the arms' names, and for the CPUs in use.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 90.0;
/// Room below the bars for the axis.
const FOOT: f64 = 24.0;
/// The category of time in user space. The others are the kernel's.
const USER: &str = "user";

/// One arm.
struct Row<'a> {
    arm: &'a str,
    /// Median of the CPUs in use.
    cpus_used: Option<f64>,
    /// Means over the rounds, by category; empty if a round lacks them.
    shares: Option<IndexMap<&'a str, f64>>,
}

/// The stacks of a steering mode, under their heading; nothing if no arm has one.
pub(super) fn stack(result: &AbResult, name: &str, mode: &Mode) -> Markup {
    let rows = mode.arms.keys().map(|arm| {
        let samples = result.raw.iter().filter(|s| s.mode == name && s.arm == *arm);
        let breakdowns = samples.map(|sample| sample.cpu.as_ref()?.breakdown.as_ref());
        let shares = breakdowns.collect::<Option<Vec<_>>>().and_then(|all| means(&all));
        Row { arm, cpus_used: mode.median(arm, "cpus_used"), shares }
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let Some(known) = rows.iter().find_map(|row| row.shares.as_ref()) else { return html! {} };
    let categories: Vec<&str> = known.keys().copied().collect();
    html! {
        h3 { "What the CPUs did" }
        p.note {
            "Share of the busy time of all CPUs, whatever ran: means over the rounds. The categories "
            "are those of the host-network-stack paper. On the right: the CPUs in use."
        }
        div.scroll { (drawing(&rows)) }
        div.scroll { (table(&rows, &categories)) }
    }
}

/// The mean of each share. Unlike medians, means of shares still sum to 1.
fn means<'a>(breakdowns: &[&'a Breakdown]) -> Option<IndexMap<&'a str, f64>> {
    let mut means: IndexMap<&str, f64> = IndexMap::new();
    for breakdown in breakdowns {
        let kernel = breakdown.kernel.iter().map(|(name, share)| (name.as_str(), share.total));
        for (category, share) in kernel.chain([(USER, breakdown.user)]) {
            *means.entry(category).or_default() += share / breakdowns.len() as f64;
        }
    }
    (!means.is_empty()).then_some(means)
}

/// The class that colours a category.
fn class(category: &str) -> String {
    format!("busy-{category}")
}

fn words(category: &str) -> &str {
    if category == USER { "user space" } else { title(category) }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn drawing(rows: &[Row<'_>]) -> Markup {
    let bottom = STEP * rows.len() as f64;
    let x = Linear { domain: (0.0, 1.0), range: (LEFT, WIDTH - RIGHT) };
    let content = html! {
        @for (index, row) in rows.iter().enumerate() {
            @let top = STEP * index as f64 + (STEP - BAR) / 2.0;
            @let baseline = top + BAR / 2.0 + 4.0;
            (svg::text(LEFT - 8.0, baseline, Anchor::End, "label", row.arm))
            @match &row.shares {
                Some(shares) => (segments(shares, x, top)),
                None => (svg::text(LEFT + 6.0, baseline, Anchor::Start, "note", "unknown")),
            }
            @let cpus = row.cpus_used.map_or("unknown".into(), |cpus| format!("{cpus:.2} CPUs"));
            (svg::text(WIDTH - RIGHT + 8.0, baseline, Anchor::Start, "value", &cpus))
        }
        (svg::line((LEFT, 0.0), (LEFT, bottom), "axis"))
        @for quarter in 0..=4 {
            @let at = x.at(f64::from(quarter) / 4.0);
            (svg::line((at, bottom), (at, bottom + 4.0), "axis"))
            (svg::text(at, bottom + 18.0, Anchor::Middle, "tick", &format!("{} %", 25 * quarter)))
        }
    };
    svg::canvas(WIDTH, bottom + FOOT, "CPU time by category", content)
}

fn segments(shares: &IndexMap<&str, f64>, x: Linear, top: f64) -> Markup {
    let mut sum = 0.0;
    html! {
        @for (&category, &share) in shares {
            @let (left, right) = (x.at(sum), x.at(sum + share));
            @let () = sum += share;
            rect x=(svg::px(left)) y=(svg::px(top)) width=(svg::px(right - left)) height=(BAR)
                class=(class(category)) { title { (words(category)) " " (percent(share)) } }
        }
    }
}

/// The table, which also explains the colours.
fn table(rows: &[Row<'_>], categories: &[&str]) -> Markup {
    html! {
        table.figures {
            thead { tr {
                th { "busy time" }
                @for row in rows { th.number { (row.arm) } }
            } }
            tbody { @for category in categories { tr {
                th scope="row" { span.swatch.(class(category)) {} (words(category)) }
                @for row in rows {
                    @let share = row.shares.as_ref().and_then(|shares| shares.get(category));
                    td.number { (share.map_or("–".into(), |share| percent(*share))) }
                }
            } } }
        }
    }
}
