//! The result on a terminal or in Markdown: a table per steering mode, the verdicts on the targets,
//! and the warnings.

use super::metrics::Verdict;
use super::mode::Mode;
use super::stages::stage_figures;
use super::targets;
use super::types::AbResult;
use steer_ground::style::{Style, UNKNOWN};

/// The whole result as text.
pub fn table(result: &AbResult, style: Style) -> String {
    let mut text = String::new();
    for (name, mode) in &result.modes {
        text += &style.heading(&format!(
            "{name} steering: medians of {} interleaved rounds; \
             ratios with 95 % intervals, + better, - worse",
            result.pairs
        ));
        text += &mode_table(mode, style);
        text.push('\n');
        text += &stages_table(result, name, style);
        if let Some(equal) = &result.equal {
            text += &style.item(&format!("{equal} is an arm against itself: what chance does"));
        }
        for reading in targets::read(&result.main_arm, mode) {
            let (verdict, wanted, found) = (reading.verdict, reading.wanted, reading.found);
            text += &style.item(&format!("{verdict:<7}  {wanted}: {found}"));
        }
        text.push('\n');
    }
    if let Some(caveat) = result.environment.caveat() {
        text += &style.paragraph(caveat);
    }
    let warnings = result.warning_lines();
    if !warnings.is_empty() {
        text += &style.heading("Warnings");
        warnings.iter().for_each(|warning| text += &style.item(warning));
    }
    text.trim_end().to_string() + "\n"
}

/// What was done in each stage of a shifting load.
fn stages_table(result: &AbResult, mode: &str, style: Style) -> String {
    let figures = stage_figures(result, mode);
    let Some(arms) = result.modes.get(mode).filter(|_| !figures.is_empty()) else {
        return String::new();
    };
    let mut table = style.table();
    table.set_header(["stage", "medians"].into_iter().chain(arms.arms.keys().map(String::as_str)));
    for figure in figures {
        let medians = figure.medians.iter();
        let medians = medians.map(|m| m.map_or(UNKNOWN.into(), |median| format!("{median:.2}")));
        table.add_row([figure.stage, figure.about.to_owned()].into_iter().chain(medians));
    }
    style.lines(table, 2) + "\n"
}

fn mode_table(mode: &Mode, style: Style) -> String {
    let pairs = mode.pairs();
    let mut table = style.table();
    let names = mode.arms.keys().chain(pairs.iter().copied()).map(String::as_str);
    table.set_header(["metric", "unit"].into_iter().chain(names));
    for metric in mode.metrics() {
        let medians = mode.arms.keys().map(|arm| {
            let median = mode.median(arm, metric.name);
            median.map_or(UNKNOWN.into(), |median| metric.show(median))
        });
        let ratios = pairs.iter().map(|pair| {
            let ratio = mode.ratio(metric.name, pair);
            // A sign only if there is a verdict.
            let mark = |ratio| metric.verdict(ratio).map_or(' ', Verdict::sign);
            ratio.map_or(UNKNOWN.into(), |ratio| format!("{ratio}{}", mark(ratio)))
        });
        let head = [metric.name, metric.unit].map(String::from);
        table.add_row(head.into_iter().chain(medians).chain(ratios));
    }
    style.lines(table, 2)
}
