//! The terminal: draws samples, takes keys, and leaves the terminal as it was.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use steer_top::{Action, App, draw, load, save};

use super::collect::Collector;
use crate::signals::Flag;

/// How long a signal may stay unnoticed.
const LOOK: Duration = Duration::from_millis(100);

/// Runs the screen.
pub(super) fn run(
    collector: &mut Collector<'_, '_>,
    interval: Duration,
    stop: &Flag,
) -> Result<()> {
    if !io::stdout().is_terminal() {
        bail!("the screen needs a terminal: use --json or --batch N to write samples elsewhere");
    }
    let mut app = App::default();
    let choices = choices();
    if let Err(error) = load(&mut app, &choices) {
        app.message = Some(error.to_string());
    }
    app.set_interval(u64::try_from(interval.as_millis()).unwrap_or(u64::MAX));
    // restores the terminal on a panic as well
    let mut terminal = ratatui::init();
    let result = shown(&mut terminal, collector, &mut app, &choices, stop);
    ratatui::restore();
    result
}

fn shown(
    terminal: &mut ratatui::DefaultTerminal,
    collector: &mut Collector<'_, '_>,
    app: &mut App,
    choices: &std::path::Path,
    stop: &Flag,
) -> Result<()> {
    let mut sample = collector.sample()?;
    let mut taken = Instant::now();
    terminal.draw(|frame| draw(frame, app, &sample))?;
    while !stop.raised() {
        if event::poll(LOOK)? {
            if let Event::Key(key) = event::read()?
                && key.kind == KeyEventKind::Press
            {
                match app.on_key(key.code, &sample) {
                    Action::Quit => return Ok(()),
                    Action::Draw => {}
                    Action::Save => {
                        app.message = Some(match save(app, choices) {
                            Ok(()) => format!("saved to {}", choices.display()),
                            Err(error) => format!("cannot save: {error}"),
                        });
                    }
                }
            }
            terminal.draw(|frame| draw(frame, app, &sample))?;
        }
        if taken.elapsed() >= Duration::from_millis(app.interval_ms) {
            sample = collector.sample()?;
            taken = Instant::now();
            terminal.draw(|frame| draw(frame, app, &sample))?;
        }
    }
    Ok(())
}

/// Where the choices are saved (XDG base directories).
fn choices() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let folder = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
    folder.unwrap_or_else(|| "/etc".into()).join("scx_steer/top.json")
}
