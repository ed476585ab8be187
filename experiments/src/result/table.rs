//! The result on a terminal or in a Markdown page: a table per world, what it says about the
//! targets, and the doubts.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::metrics::{Better, METRICS, Metric};
use super::targets;
use super::types::{AbResult, World};
use crate::stats::Ratio;

/// Widest line of a table in columns.
const WIDTH: u16 = 100;

/// Stands for a value that is not known or not defined.
const UNKNOWN: &str = "–";

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Aligned columns.
    Terminal,
    /// A Markdown table.
    Markdown,
}

impl Style {
    fn heading(self, text: &str) -> String {
        match self {
            Self::Terminal => format!("{}\n", textwrap::fill(text, usize::from(WIDTH))),
            Self::Markdown => format!("### {text}\n\n"),
        }
    }

    fn item(self, text: &str) -> String {
        match self {
            Self::Terminal => {
                let width = textwrap::Options::new(usize::from(WIDTH));
                let indented = width.initial_indent("  ").subsequent_indent("    ");
                format!("{}\n", textwrap::fill(text, indented))
            }
            Self::Markdown => format!("- {text}\n"),
        }
    }

    fn paragraph(self, text: &str) -> String {
        match self {
            Self::Terminal => format!("{}\n\n", textwrap::fill(text, usize::from(WIDTH))),
            Self::Markdown => format!("{text}\n\n"),
        }
    }

    fn table(self) -> Table {
        let mut table = Table::new();
        match self {
            Self::Terminal => table
                .load_style(presets::NOTHING)
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(WIDTH),
            Self::Markdown => table.load_style(presets::ASCII_MARKDOWN),
        };
        table
    }
}

/// The whole result as text.
pub(crate) fn table(result: &AbResult, style: Style) -> String {
    let mut text = String::new();
    for (name, world) in &result.worlds {
        text += &style.heading(&format!(
            "{name} steering: medians of {} interleaved rounds; \
             ratios with 95 % intervals, + better, - worse",
            result.pairs
        ));
        text += &world_table(world, style);
        text.push('\n');
        for reading in targets::read(&result.subject, world) {
            let (verdict, wanted, found) = (reading.verdict, reading.wanted, reading.found);
            text += &style.item(&format!("{verdict:<7}  {wanted}: {found}"));
        }
        text.push('\n');
    }
    if let Some(caveat) = result.environment.caveat() {
        text += &style.paragraph(caveat);
    }
    if !result.warnings.is_empty() {
        text += &style.heading("Warnings");
        result.warnings.iter().for_each(|warning| text += &style.item(warning));
    }
    text.trim_end().to_string() + "\n"
}

fn world_table(world: &World, style: Style) -> String {
    let pairs = world.pairs();
    let mut table = style.table();
    let names = world.arms.keys().chain(pairs.iter().copied()).map(String::as_str);
    table.set_header(["metric", "unit"].into_iter().chain(names));
    for metric in METRICS {
        let medians = world.arms.keys().map(|arm| {
            let median = world.median(arm, metric.name);
            median.map_or(UNKNOWN.into(), |median| metric.show(median))
        });
        let ratios = pairs.iter().map(|pair| {
            let ratio = world.ratio(metric.name, pair);
            ratio.map_or(UNKNOWN.into(), |ratio| format!("{ratio}{}", mark(metric, ratio)))
        });
        let head = [metric.name, metric.unit].map(String::from);
        table.add_row(head.into_iter().chain(medians).chain(ratios));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if index >= 2 {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if style == Style::Terminal {
            column.set_padding((0, 2));
        }
    }
    table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// A sign only where the interval excludes 1.
fn mark(metric: &Metric, ratio: Ratio) -> char {
    match (ratio.excludes_one(), (ratio.median > 1.0) == (metric.better == Better::Higher)) {
        (false, _) => ' ',
        (true, true) => '+',
        (true, false) => '-',
    }
}
