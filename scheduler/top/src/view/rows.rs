//! A table of rows, one of which may be selected and shown in full.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::Style;
use ratatui::widgets::{Row, Table, TableState};

use super::over;
use crate::app::App;

/// A row: its cells, its style, and its text in full.
pub(super) struct Item {
    pub(super) cells: Vec<String>,
    pub(super) style: Style,
    pub(super) details: String,
}

/// Draws `items` under `header`. A width of 0 takes what is left.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    app: &App,
    header: &[(&str, u16)],
    items: &[Item],
) {
    let widths = header.iter().map(|(_, width)| match width {
        0 => Constraint::Fill(1),
        width => Constraint::Length(*width),
    });
    let names =
        Row::new(header.iter().map(|(name, _)| (*name).to_owned())).style(app.theme.heading());
    let rows = items.iter().map(|item| Row::new(item.cells.clone()).style(item.style));
    let table = Table::new(rows, widths).header(names).row_highlight_style(app.theme.selected());
    let selected = app.selected.min(items.len().saturating_sub(1));
    let mut state = TableState::new().with_selected((!items.is_empty()).then_some(selected));
    frame.render_stateful_widget(table, area, &mut state);
    if app.details
        && let Some(item) = items.get(selected)
    {
        over(frame, area, "details", &item.details);
    }
}

/// Bytes per second in a form that fits ten columns.
pub(super) fn rate(bytes: f64) -> String {
    let bits = bytes * 8.0;
    match bits {
        1e9.. => format!("{:.2} Gb/s", bits / 1e9),
        1e6.. => format!("{:.1} Mb/s", bits / 1e6),
        _ => format!("{:.1} kb/s", bits / 1e3),
    }
}

/// A number, or a dash if it is unknown.
pub(super) fn known<T: ToString>(value: Option<T>) -> String {
    value.map_or("-".into(), |value| value.to_string())
}
