//! Shows the progress of a command: a live line on a terminal, otherwise one plain line per step.

use std::borrow::Cow;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Progress of a long command, on standard error.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Progress of an unknown number of steps.
    pub fn spinner() -> Self {
        Self::styled(ProgressBar::new_spinner(), "{spinner} {elapsed:>4} {wide_msg}")
    }

    /// Progress of a known number of rounds; shows the time left.
    pub fn rounds(total: u64) -> Self {
        let template = "{spinner} [{bar:24}] {pos}/{len} {elapsed:>4}, {eta} left  {wide_msg}";
        Self::styled(ProgressBar::new(total), template)
    }

    fn styled(bar: ProgressBar, template: &str) -> Self {
        let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// Adds rounds to the known number.
    pub fn add(&self, rounds: u64) {
        self.bar.inc_length(rounds);
    }

    /// Shows the current step.
    pub fn step(&self, what: impl Into<Cow<'static, str>>) {
        let what = what.into();
        if self.bar.is_hidden() {
            eprintln!("{what}");
        }
        self.bar.set_message(what);
    }

    /// Prints a line of the command's own output, above the live line.
    pub fn say(&self, what: &str) {
        self.bar.suspend(|| println!("{what}"));
    }

    /// Counts one round as done.
    pub fn advance(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
