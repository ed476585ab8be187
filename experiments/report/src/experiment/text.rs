//! An experiment as Markdown and CSV.

use super::super::{csv as samples, facts};
use super::Experiment;
use super::common::common;
use super::figures::table;
use steer_ground::style::Style;

/// The whole report as Markdown.
pub(crate) fn markdown(experiment: &Experiment) -> String {
    let (spec, style) = (&experiment.spec, Style::Markdown);
    let mut text = format!("# {}\n\n", spec.question);
    text += &format!("{} · {} · {}\n\n", spec.name, spec.source, experiment.machine());
    experiment.caveats().into_iter().for_each(|caveat| text += &style.paragraph(caveat));
    for mode in experiment.modes() {
        text += &style.heading(&format!(
            "{mode} steering: medians with intervals by {}; ratios with 95 % intervals, + better, \
             - worse",
            experiment.axis.name
        ));
        let figures = table(experiment, mode);
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
pub(crate) fn csv(experiment: &Experiment) -> String {
    let points = experiment.points.iter().map(|point| (point.name.as_str(), &point.result));
    samples::by_point(points)
}
