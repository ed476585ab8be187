//! CPUs as a map: by node and cache, each with a bar of what it did.

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::app::App;
use crate::sample::{CpuUse, Sample};
use crate::theme::Theme;

/// Columns of a CPU's bar.
const BAR: usize = 12;
/// Columns of a CPU: number, mark, bar, space.
const CELL: usize = BAR + 9;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, sample: &Sample) {
    let mut lines = vec![legend(app.theme)];
    let mut places: BTreeMap<(Option<u32>, Option<u32>), Vec<&CpuUse>> = BTreeMap::new();
    for cpu in sample.cpus.iter().filter(|cpu| app.wants(cpu)) {
        places.entry((cpu.node, cpu.llc)).or_default().push(cpu);
    }
    let in_a_row = (usize::from(area.width) / CELL).max(1);
    let name = |kind: &str, number: Option<u32>| match number {
        Some(number) => format!("{kind} {number}"),
        None => format!("{kind} unknown"),
    };
    for ((node, llc), cpus) in places {
        let title = format!("{}, {}", name("node", node), name("cache", llc));
        lines.push(Line::styled(title, app.theme.heading()));
        for row in cpus.chunks(in_a_row) {
            lines.push(row.iter().flat_map(|cpu| cell(app.theme, cpu)).collect::<Vec<_>>().into());
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn legend(theme: Theme) -> Line<'static> {
    let parts = [("L", "long"), ("s", "short"), ("o", "other"), ("i", "softirq"), (".", "idle")];
    let mut spans: Vec<Span> = parts
        .into_iter()
        .map(|(letter, class)| Span::styled(format!("{letter} {class}  "), theme.class(class)))
        .collect();
    spans.push(Span::raw("* long flows sent here  = reserved for short ones"));
    spans.into()
}

/// A CPU: its number, a mark, and letters in proportion to its time.
fn cell(theme: Theme, cpu: &CpuUse) -> Vec<Span<'static>> {
    let mark = match (cpu.claimed, cpu.reserved) {
        (_, true) => '=',
        (true, _) => '*',
        _ => ' ',
    };
    let mut spans = vec![Span::raw(format!("{:>4}{mark} ", cpu.cpu))];
    let mut used = 0;
    let mut until = 0.0;
    for (letter, class, share) in [
        ("L", "long", cpu.long),
        ("s", "short", cpu.short),
        ("o", "other", cpu.other),
        ("i", "softirq", cpu.softirq),
    ] {
        until += share;
        let end = ((until * BAR as f64).round() as usize).clamp(used, BAR);
        spans.push(Span::styled(letter.repeat(end - used), theme.class(class)));
        used = end;
    }
    spans.push(Span::styled(".".repeat(BAR - used), theme.class("idle")));
    spans.push(Span::raw("   "));
    spans
}
