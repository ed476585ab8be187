//! A comparison on a terminal or in Markdown: warnings first, then a table per steering mode and
//! arm.

use super::comparison::{Comparison, Run};
use super::figures::Figures;
use steer_ground::style::{Style, UNKNOWN};
use steer_result::metrics::METRICS;

/// The whole comparison.
pub(super) fn text(comparison: &Comparison, style: Style) -> String {
    let mut text = style.heading("B compared with A");
    for (name, run) in [("A", &comparison.a), ("B", &comparison.b)] {
        text += &style.item(&format!("{name}: {}", describe(run)));
    }
    text.push('\n');
    text += &style.paragraph(comparison.method);
    if let Some(caveat) = comparison.caveat {
        text += &style.paragraph(caveat);
    }
    if !comparison.warnings.is_empty() {
        text += &style.heading("Warnings: a ratio may come from these instead");
        comparison.warnings.iter().for_each(|warning| text += &style.item(&warning.to_string()));
        text.push('\n');
    }
    for (mode, arms) in &comparison.modes {
        for (arm, figures) in arms {
            text += &style.heading(&format!("{mode} steering, {arm}"));
            text += &table(figures, style);
            text.push('\n');
        }
    }
    text.trim_end().to_string() + "\n"
}

/// A run in one line, without what is unknown.
fn describe(run: &Run) -> String {
    let parts = [
        run.arm_version.clone(),
        run.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        Some(format!("{} rounds", run.pairs)),
        run.started.clone(),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn table(figures: &Figures, style: Style) -> String {
    let mut table = style.table();
    table.set_header(["metric", "unit", "verdict", "A", "B", "B / A"]);
    for metric in METRICS {
        let Some(figure) = figures.get(metric.name) else { continue };
        let median = |value: Option<f64>| value.map_or(UNKNOWN.into(), |value| metric.show(value));
        table.add_row([
            metric.name.to_string(),
            metric.unit.to_string(),
            figure.verdict.map(|verdict| verdict.to_string()).unwrap_or_default(),
            median(figure.a),
            median(figure.b),
            figure.ratio.map_or(UNKNOWN.into(), |ratio| ratio.to_string()),
        ]);
    }
    style.lines(table, 3)
}
