//! Reads and writes `result.json`, and writes reports. Also reads archived results.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::archive;
use super::older;
use super::types::AbResult;

impl AbResult {
    /// Writes the result.
    ///
    /// # Errors
    /// As [`write_whole`].
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut json = serde_json::to_string_pretty(self).context("cannot encode the result")?;
        json.push('\n');
        write_whole(path, &json)
    }

    /// Reads a result: a file, plain or archived, or the folder of a `result.json`.
    ///
    /// # Errors
    /// The file is missing, is not JSON, or has another version or an invalid field. The message
    /// names the file, and the line of the field.
    pub fn read(path: &Path) -> Result<Self> {
        let path = archive::locate(path)?;
        let text = archive::text(&path)?;
        let name = path.display();
        Self::parse(&text).with_context(|| format!("{name} is not a result of `steer-bench ab`"))
    }

    fn parse(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        // Check the version first: otherwise the message would be about a field that another
        // version lacks.
        let Versioned { version } = serde_json::from_str(text)?;
        if version != Self::VERSION {
            bail!("it has format version {version}, this program reads {}", Self::VERSION);
        }
        Ok(older::completed(serde_json::from_str(text)?))
    }
}

/// Writes a file, whole or not at all. A reader never sees half of it. If the disk is full, the old
/// file stays.
///
/// # Errors
/// When the folder is missing or not writable, or the disk is full.
pub fn write_whole(path: &Path, text: &str) -> Result<()> {
    // A device or a link: write to its target instead of replacing it.
    if path.symlink_metadata().is_ok_and(|it| !it.is_file()) {
        return fs::write(path, text).with_context(|| format!("cannot write {}", path.display()));
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(".partial");
    let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // Half a draft is useless and takes space.
        fs::remove_file(&draft).ok();
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}
