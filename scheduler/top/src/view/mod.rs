//! Draws the frame: a title, the chosen view, a line of keys.

mod cgroups;
mod cpus;
mod nics;
mod rows;
mod threads;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use crate::app::{App, View};
use crate::sample::Sample;

const HELP: &str = "\
v, left, right  next view            n  one node after the other
up, down        select a row         l  one cache after the other
Enter           all of the row       t  theme
+, -            interval             S  save view, theme, interval
?               this help            q  quit";

/// Draws one frame.
pub fn draw(frame: &mut Frame<'_>, app: &App, sample: &Sample) {
    let [title, body, keys] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(heading(app, sample), title);
    match app.view {
        View::Nics => nics::draw(frame, body, app, sample),
        View::Threads => threads::draw(frame, body, app, sample),
        View::Cpus => cpus::draw(frame, body, app, sample),
        View::Cgroups => cgroups::draw(frame, body, app, sample),
    }
    let line = app.message.clone().unwrap_or_else(|| {
        format!("every {} s   q quit  ? help  v view  +/- interval", app.interval_ms as f64 / 1e3)
    });
    frame.render_widget(Line::styled(line, app.theme.heading()), keys);
    if app.help {
        over(frame, body, "keys", HELP);
    }
}

fn heading<'a>(app: &App, sample: &Sample) -> Line<'a> {
    let mut words = vec![Span::raw(format!("under {}  ", sample.scheduler))];
    for view in View::ALL {
        let style = if view == app.view { app.theme.selected() } else { app.theme.heading() };
        words.extend([Span::styled(format!(" {} ", view.name()), style), Span::raw(" ")]);
    }
    words.extend(app.node.map(|node| Span::raw(format!(" node {node}"))));
    words.extend(app.llc.map(|llc| Span::raw(format!(" cache {llc}"))));
    if !sample.decisions {
        words.push(Span::raw(" scx_steer is not in force: no decisions"));
    }
    Line::from(words)
}

/// A box with text over the middle of a view.
fn over(frame: &mut Frame<'_>, area: Rect, title: &str, text: &str) {
    let height = (text.lines().count() as u16 + 2).min(area.height);
    let [middle] = Layout::vertical([Constraint::Length(height)])
        .flex(ratatui::layout::Flex::Center)
        .areas(area);
    let [middle] =
        Layout::horizontal([Constraint::Max(76)]).flex(ratatui::layout::Flex::Center).areas(middle);
    let text = Paragraph::new(text.to_owned()).wrap(Wrap { trim: false });
    frame.render_widget(Clear, middle);
    frame.render_widget(text.block(Block::bordered().title(title.to_owned())), middle);
}
