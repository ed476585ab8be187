//! Files that a command leaves.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

/// Writes JSON for readers to a file of this folder, which is made if it is missing. Returns the
/// file's path.
///
/// # Errors
/// When the folder cannot be made, or the file not written.
pub(crate) fn write_json(folder: &Path, name: &str, value: &impl Serialize) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let path = folder.join(name);
    fs::write(&path, serde_json::to_string_pretty(value)? + "\n")
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}
