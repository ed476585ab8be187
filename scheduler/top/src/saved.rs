//! What `S` saves: the choices that a user would make again.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::app::{App, View};
use crate::theme::Theme;

#[derive(Serialize, Deserialize)]
struct Saved {
    view: View,
    theme: Theme,
    interval_ms: u64,
}

/// Writes the choices to `path`. The file is replaced as a whole.
///
/// # Errors
/// It cannot be written.
pub fn save(app: &App, path: &Path) -> io::Result<()> {
    let saved = Saved { view: app.view, theme: app.theme, interval_ms: app.interval_ms };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let new = path.with_extension("new");
    fs::write(&new, serde_json::to_vec_pretty(&saved).map_err(io::Error::other)?)?;
    fs::rename(new, path)
}

/// Takes the choices from `path` over. A file that is absent changes nothing.
///
/// # Errors
/// It cannot be read or understood.
pub fn load(app: &mut App, path: &Path) -> io::Result<()> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text?,
    };
    let saved: Saved = serde_json::from_str(&text).map_err(|error| {
        io::Error::other(format!("{}: {error}; delete it, or save again with S", path.display()))
    })?;
    (app.view, app.theme) = (saved.view, saved.theme);
    app.set_interval(saved.interval_ms);
    Ok(())
}
