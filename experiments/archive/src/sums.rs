//! The checksums of a run's data, in the form of `sha256sum`: a figure that was changed later shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use steer_ground::text::hex;

/// The file with the checksums, in a run's folder.
pub(crate) const FILE: &str = "SHA256SUMS";

/// Writes the checksums of what a run measured.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let text: String =
        data(folder)?.into_iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    fs::write(folder.join(FILE), text).with_context(|| format!("cannot write {FILE}"))
}

/// Checks that a run's data is what was archived.
///
/// # Errors
/// A file was changed, added or removed since, or cannot be read.
pub fn check(folder: &Path) -> Result<()> {
    let path = folder.join(FILE);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut archived = BTreeMap::new();
    for line in text.lines() {
        let Some((sum, name)) = line.split_once("  ") else {
            bail!("{}: \"{line}\" is no line of sha256sum", path.display());
        };
        archived.insert(name.to_owned(), sum.to_owned());
    }
    let present = data(folder)?;
    let names = archived.keys().chain(present.keys());
    let changed = names.filter(|name| archived.get(*name) != present.get(*name));
    let changed: BTreeSet<_> = changed.map(String::as_str).collect();
    ensure!(
        changed.is_empty(),
        "{} was changed after it was archived: {}. Archive a new run instead",
        folder.display(),
        Vec::from_iter(changed).join(", ")
    );
    Ok(())
}

/// What a run measured, by file name: everything except its description.
fn data(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut sums = BTreeMap::new();
    for entry in folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !["README.md", "run.toml", FILE].contains(&name.as_str()) {
            let bytes =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            sums.insert(name, hex(&Sha256::digest(bytes)));
        }
    }
    Ok(sums)
}
