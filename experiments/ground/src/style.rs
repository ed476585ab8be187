//! How tables, headings and lists are drawn on a terminal and in Markdown.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Widest line of a table in columns.
const WIDTH: u16 = 100;

/// Stands for a value that is unknown or undefined.
pub const UNKNOWN: &str = "–";

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Aligned columns.
    Terminal,
    /// A Markdown table.
    Markdown,
}

impl Style {
    /// A heading above a table.
    pub fn heading(self, text: &str) -> String {
        match self {
            Self::Terminal => format!("{}\n", textwrap::fill(text, usize::from(WIDTH))),
            Self::Markdown => format!("### {text}\n\n"),
        }
    }

    /// An item of a list.
    pub fn item(self, text: &str) -> String {
        match self {
            Self::Terminal => {
                let width = textwrap::Options::new(usize::from(WIDTH));
                let indented = width.initial_indent("  ").subsequent_indent("    ");
                format!("{}\n", textwrap::fill(text, indented))
            }
            Self::Markdown => format!("- {text}\n"),
        }
    }

    /// A paragraph of prose, followed by an empty line.
    pub fn paragraph(self, text: &str) -> String {
        match self {
            Self::Terminal => format!("{}\n\n", textwrap::fill(text, usize::from(WIDTH))),
            Self::Markdown => format!("{text}\n\n"),
        }
    }

    /// A table without rows.
    pub fn table(self) -> Table {
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
    /// The lines of a table. The first `text_columns` columns hold text, the others hold figures.
    pub fn lines(self, mut table: Table, text_columns: usize) -> String {
        for (index, column) in table.column_iter_mut().enumerate() {
            if index >= text_columns {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if self == Self::Terminal {
                column.set_padding((0, 2));
            }
        }
        table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
    }
}
