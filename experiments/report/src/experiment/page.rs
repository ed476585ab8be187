//! The page of an experiment: its question, a section per steering mode, and what papers state.

use indexmap::IndexMap;
use maud::{Markup, html};

use super::super::{facts, page as report, svg};
use super::Experiment;
use super::common::common;
use super::figures::table;
use super::lines::{Line, lines};
use super::marks::Statement;
use super::panel::{Dot, Panel, PanelLine};
use steer_result::metrics::{Better, Metric};

/// The whole page.
pub(crate) fn page(experiment: &Experiment) -> Markup {
    let spec = &experiment.spec;
    let subtitle = format!("{} · {} · {}", spec.name, spec.source, experiment.machine());
    let content = html! {
        section {
            h2 { "What it is compared with" }
            p {
                "Each metric is drawn twice: as measured, and relative to the first point. Absolute "
                "values cannot be compared with a paper's, because its processors, NICs and rates "
                "differ. So only the second plot shows what papers state, relative to the paper's "
                "own value at the point that the table names, and only if that is also our first "
                "point."
            }
            @for caveat in experiment.caveats() { p.caveat { (caveat) } }
            (stated(experiment))
        }
        (facts::warnings(&experiment.warnings()))
        @for mode in experiment.modes() { (section(experiment, mode)) }
        section { h2 { "Where this was measured" } (measured(experiment)) }
        section { h2 { "How to read this" } (reading(experiment)) }
    };
    report::frame(&spec.question, &subtitle, content)
}

/// What papers state, word for word.
fn stated(experiment: &Experiment) -> Markup {
    let statements = experiment.statements();
    html! {
        h3 { "What papers state" }
        @if statements.is_empty() { p.note { "No paper is known to state a value in its text." } }
        @else {
            div.scroll { table.verdicts {
                thead { tr {
                    th { (experiment.axis.name) } th { "stated" } th { "passage" } th { "source" }
                } }
                tbody { @for statement in statements {
                    @for (index, mark) in statement.marks.iter().enumerate() { tr {
                        th scope="row" { (mark.at) }
                        td { (mark.words(statement.of.as_deref())) }
                        @if index == 0 {
                            td rowspan=(statement.marks.len()) { "“" (statement.quote) "”" }
                            td rowspan=(statement.marks.len()) { (statement.source) }
                        }
                    } }
                } }
            } }
        }
    }
}

fn section(experiment: &Experiment, mode: &str) -> Markup {
    let points = experiment.mode(mode);
    let metrics = experiment.metrics(mode);
    let plots: Vec<(&Metric, Vec<Line<'_>>)> =
        metrics.iter().map(|metric| (*metric, lines(&points, metric))).collect();
    let arms = plots.first().into_iter().flat_map(|(_, lines)| lines.iter().map(|line| line.arm));
    let arms = arms.enumerate().map(|(index, arm)| (svg::arm_class(index), arm));
    let first = points.first().map_or("", |(label, _)| *label);
    let beside = |statement: &&Statement| {
        points.len() > 1 && metrics.iter().any(|metric| statement.is_beside(metric.name, first))
    };
    let paper = experiment.statements().iter().any(beside);
    let paper = paper.then(|| ("stated".to_owned(), stated_name(experiment)));
    html! {
        section {
            h2 { "Steering: " (mode) }
            p.note { (report::about(mode)) }
            (svg::legend(arms.chain(paper)))
            div.panels { @for (metric, lines) in &plots {
                (absolute(experiment, metric, lines))
                // Shares are not drawn relative to the first point.
                @if !metric.unit.is_empty() && points.len() > 1 {
                    (relative(experiment, metric, lines, first))
                }
            } }
            details { summary { "All figures" } div.scroll { (figures(experiment, mode)) } }
        }
    }
}

/// The legend of a paper's marks. Beside an emulator's lines, nobody may take them for a yardstick.
fn stated_name(experiment: &Experiment) -> &'static str {
    if experiment.machine_caveat().is_some() {
        "what the paper states about its hardware; not comparable with an emulator"
    } else {
        "what the paper states about its hardware"
    }
}

fn absolute(experiment: &Experiment, metric: &Metric, lines: &[Line<'_>]) -> Markup {
    let better = match metric.better {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
    };
    let unit = if metric.unit.is_empty() { "share" } else { metric.unit };
    let lines = lines.iter().map(|line| {
        let dots = line.values.iter().map(|value| {
            let [middle, lo, hi] = [value.median.median, value.median.lo, value.median.hi]
                .map(|value| metric.in_unit(value));
            Dot { at: value.label, value: middle, reach: Some((lo, hi)) }
        });
        PanelLine { arm: line.arm, dots: dots.collect() }
    });
    let panel = Panel {
        name: metric.name,
        note: format!("{unit}, {better}"),
        axis: &experiment.axis.name,
        columns: experiment.axis.with([].into_iter()),
        lines: lines.collect(),
        marks: Vec::new(),
        one: false,
        most: metric.unit.is_empty().then_some(1.05),
    };
    panel.draw()
}

/// Relative to the first point of this steering mode.
fn relative(experiment: &Experiment, metric: &Metric, lines: &[Line<'_>], first: &str) -> Markup {
    let statements = experiment.statements().into_iter();
    let marks = statements.filter(|statement| statement.is_beside(metric.name, first));
    let marks: Vec<(&str, f64)> = marks.flat_map(|statement| statement.drawn()).collect();
    let lines = lines.iter().map(|line| {
        let dots = line.values.iter().filter_map(|value| {
            Some(Dot { at: value.label, value: value.ratio?, reach: value.reach })
        });
        PanelLine { arm: line.arm, dots: dots.collect() }
    });
    let panel = Panel {
        name: metric.name,
        note: format!("times the arm's own value at {first}"),
        axis: &experiment.axis.name,
        columns: experiment.axis.with(marks.iter().map(|mark| mark.0)),
        lines: lines.collect(),
        marks,
        one: true,
        most: None,
    };
    panel.draw()
}

fn figures(experiment: &Experiment, mode: &str) -> Markup {
    let table = table(experiment, mode);
    html! {
        table.figures {
            thead { tr { @for (column, name) in table.head.iter().enumerate() {
                th.number[column > 2] { (name) }
            } } }
            tbody { @for row in &table.rows { tr { @for (column, cell) in row.iter().enumerate() {
                td.number[column > 2] { (cell) }
            } } } }
        }
    }
}

/// The machine, the traffic, and the commands that measured.
fn measured(experiment: &Experiment) -> Markup {
    let results = experiment.points.iter().map(|point| &point.result);
    let commands: Vec<String> = results.clone().map(|result| result.command.join(" ")).collect();
    let machines = results.clone().map(|result| facts::fields(&result.environment)).collect();
    let workloads = results.map(|result| facts::fields(&result.workload)).collect();
    html! {
        div.columns {
            div { h3 { "Machine" } (facts::list(&common(machines))) }
            div { h3 { "Workload" } (facts::list(&common(workloads))) }
        }
        h3 { "Commands" }
        pre { (commands.join("\n")) }
    }
}

fn reading(experiment: &Experiment) -> Markup {
    let modes = experiment.modes();
    let of = |mode: &&str| experiment.metrics(mode);
    let metrics: IndexMap<&str, &Metric> =
        modes.iter().flat_map(of).map(|metric| (metric.name, metric)).collect();
    html! {
        p {
            "Columns stand in order, not to scale. A dot is the median of the rounds. In the first "
            "plot its bar is the 95 % interval of the sign test, or the range of all rounds if there "
            "are fewer than six. In the plot relative to the first point, its bar is the 95 % "
            "interval of the rank-sum test; with fewer than four rounds there is no bar. These bars "
            "do not show whether two arms differ at one point. Look at the ratios under All figures: "
            "they use that rounds are paired, and + or - marks an interval that excludes 1."
        }
        dl { @for metric in metrics.values() { dt { (metric.name) } dd { (metric.about) } } }
    }
}
