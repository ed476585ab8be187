//! Shows the progress of the client on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar. It draws nothing when stderr is not a terminal.
pub(super) fn progress_bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
