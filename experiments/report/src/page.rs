//! The page: the order of its parts, its frame and its tables.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    bars, facts, headline, intervals, latencies, machine, placement, rates, stack, svg, targets,
    timeline, verdicts,
};
use steer_result::{AbResult, Mode, stage_figures};

/// The whole page.
pub(super) fn page(result: &AbResult) -> Markup {
    let content = html! {
        section {
            h2 { "Verdict" }
            (targets::targets(result))
            (caveat(result))
            (verdicts::verdicts(result))
        }
        (facts::warnings(&result.warning_lines()))
        @for (name, mode) in &result.modes { (section(result, name, mode)) }
        section { h2 { "Where this was measured" } (facts::environment(result)) }
        section { h2 { "How to read this" } (facts::reading(result)) }
    };
    frame(&headline::title(result), &headline::subtitle(result), content)
}

/// A page that needs nothing else, in light and dark.
pub(super) fn frame(title: &str, subtitle: &str, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header {
                    h1 { (title) }
                    p.subtitle { (subtitle) }
                }
                main { (content) }
            }
        }
    }
}

fn caveat(result: &AbResult) -> Markup {
    html! { @if let Some(caveat) = result.environment.caveat() { p.caveat { (caveat) } } }
}

fn section(result: &AbResult, name: &str, mode: &Mode) -> Markup {
    let arms: Vec<&String> = mode.arms.keys().collect();
    let placements = placement::placements(result, name, &arms);
    html! {
        section {
            h2 { "Steering: " (name) }
            p.note { (about(name)) }
            h3 { "Medians" }
            p.note {
                "Bars are medians over the rounds; dots are single rounds. To compare arms, look at "
                "Ratios."
            }
            (bars::bars(mode))
            h3 { "Ratios" }
            p.note {
                "A ratio is coloured if its 95 % interval excludes 1. It is undefined if the other arm "
                "has a zero, or a round lacks the metric."
            }
            @if let Some(equal) = &result.equal {
                p.note {
                    (equal) " compares an arm with itself. It shows what chance does: any verdict on it "
                    "is wrong."
                }
            }
            (svg::legend([("better", "better"), ("worse", "worse"), ("no-verdict", "no difference shown")]
                .map(|(class, name)| (class.to_string(), name))))
            div.scroll { (intervals::intervals(mode)) }
            h3 { "RPC latency" }
            p.note { "Share of RPCs answered within a time, all rounds together." }
            (latencies::latencies(result, name))
            (rates::rates(result, name))
            (stages(result, name, mode))
            (stack::stack(result, name, mode))
            (machine::machine(result, name, &placements))
            h3 { "Who used the CPUs" }
            p.note {
                "Share of each CPU's time, from the round nearest the median throughput per core. "
                "Blank space is idle time."
            }
            (timeline::timeline(&placements))
            details { summary { "All figures" } div.scroll { (table(mode)) } }
        }
    }
}

/// Describes a steering mode.
pub(super) fn about(name: &str) -> &'static str {
    match name {
        "auto" => "A flow's packets arrive on the queue its thread last sent from, as with aRFS.",
        "hash" => "A hash of the connection picks the queue, as with RSS.",
        "spread" => "A hash picks the queue; the driver's IRQs stay spread over both nodes.",
        "explicit" => "A rule picks the queue by source port, as with ntuple filters.",
        _ => "",
    }
}

/// What was done in each stage of a shifting load.
fn stages(result: &AbResult, name: &str, mode: &Mode) -> Markup {
    let figures = stage_figures(result, name);
    html! { @if !figures.is_empty() {
        h3 { "Stages of the load" }
        p.note { "The load shifted within each sample. Medians over the rounds, stage by stage." }
        div.scroll { table.figures {
            thead { tr {
                th { "stage" } th { "medians" }
                @for arm in mode.arms.keys() { th.number { (arm) } }
            } }
            tbody { @for figure in figures { tr {
                th scope="row" { (figure.stage) } td { (figure.about) }
                @for median in figure.medians {
                    td.number { (median.map_or("–".into(), |median| format!("{median:.2}"))) }
                }
            } } }
        } }
    } }
}

fn table(mode: &Mode) -> Markup {
    let pairs = mode.pairs();
    html! {
        table.figures {
            thead { tr {
                th { "metric" } th { "unit" }
                @for arm in mode.arms.keys() { th.number { (arm) } }
                @for pair in &pairs { th.number { (pair) } }
            } }
            tbody { @for metric in mode.metrics() { tr {
                th scope="row" { (metric.name) } td { (metric.unit) }
                @for arm in mode.arms.keys() {
                    @let median = mode.median(arm, metric.name);
                    td.number { (median.map_or("–".into(), |median| metric.show(median))) }
                }
                @for pair in &pairs {
                    @let ratio = mode.ratio(metric.name, pair);
                    td.number { (ratio.map_or("–".into(), |ratio| ratio.to_string())) }
                }
            } } }
        }
    }
}
