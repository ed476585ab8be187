//! An experiment's figures as a table, and the experiment as Markdown and CSV.

use super::super::{csv as samples, facts};
use super::Experiment;
use super::lines::lines;
use super::page::common;
use crate::result::metrics::{Claim, Metric};
use crate::result::{Style, UNKNOWN};
use crate::stats::Median;

/// A world's figures: metric, unit, point; each arm's median with its interval; each pair's ratio.
pub(super) struct Figures {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The figures of a world.
pub(super) fn table(experiment: &Experiment, world: &str) -> Figures {
    let points = experiment.world(world);
    let mut pairs: Vec<&String> = Vec::new();
    for pair in points.iter().flat_map(|(_, world)| world.pairs()) {
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let mut table = Figures { head: Vec::new(), rows: Vec::new() };
    for metric in experiment.metrics(world) {
        let lines = lines(&points, metric);
        let arms = lines.iter().map(|line| line.arm);
        let head = ["metric", "unit", &experiment.axis.name].into_iter().chain(arms);
        table.head = head.chain(pairs.iter().map(|pair| pair.as_str())).map(String::from).collect();
        for (label, world) in &points {
            let medians = lines.iter().map(|line| {
                let value = line.values.iter().find(|value| value.label == *label);
                value.map_or(UNKNOWN.into(), |value| shown(metric, value.median))
            });
            let ratios = pairs.iter().map(|pair| {
                let ratio = world.ratio(metric.name, pair);
                let mark = |ratio| metric.claim(ratio).map_or(' ', Claim::sign);
                ratio.map_or(UNKNOWN.into(), |ratio| format!("{ratio}{}", mark(ratio)))
            });
            let first = [metric.name, metric.unit, label].map(String::from);
            table.rows.push(first.into_iter().chain(medians).chain(ratios).collect());
        }
    }
    table
}

fn shown(metric: &Metric, Median { median, lo, hi }: Median) -> String {
    format!("{} [{}, {}]", metric.show(median), metric.show(lo), metric.show(hi))
}

/// The whole report as Markdown.
pub(in crate::report) fn markdown(experiment: &Experiment) -> String {
    let (spec, style) = (&experiment.spec, Style::Markdown);
    let mut text = format!("# {}\n\n", spec.question);
    text += &format!("{} · {} · {}\n\n", spec.name, spec.source, experiment.machine());
    experiment.caveats().into_iter().for_each(|caveat| text += &style.paragraph(caveat));
    for world in experiment.worlds() {
        text += &style.heading(&format!(
            "{world} steering: medians with intervals by {}; ratios with 95 % intervals, + better, \
             - worse",
            experiment.axis.name
        ));
        let figures = table(experiment, world);
        let mut table = style.table();
        table.set_header(figures.head);
        table.add_rows(figures.rows);
        text += &style.lines(table, 3);
        text.push('\n');
    }
    let statements = experiment.statements();
    if !statements.is_empty() {
        text += &style.heading("What papers state");
        for statement in statements {
            for mark in &statement.marks {
                let words = mark.words(statement.of.as_deref());
                let (at, quote, source) = (&mark.at, &statement.quote, &statement.source);
                text += &style.item(&format!("at {at}: {words} ({source}: “{quote}”)"));
            }
        }
        text.push('\n');
    }
    let warnings = experiment.warnings();
    if !warnings.is_empty() {
        text += &style.heading("Warnings");
        warnings.iter().for_each(|warning| text += &style.item(warning));
        text.push('\n');
    }
    text += &style.heading("Machine");
    let machines = experiment.points.iter().map(|point| facts::fields(&point.result.environment));
    for (name, value) in common(machines.collect()) {
        text += &style.item(&format!("{name}: {value}"));
    }
    text
}

/// Every sample of every point as CSV.
pub(in crate::report) fn csv(experiment: &Experiment) -> String {
    let points = experiment.points.iter().map(|point| (point.name.as_str(), &point.result));
    samples::by_point(points)
}
