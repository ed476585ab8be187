//! `steer-bench archive`: keeps a run for good, in little space, with what is needed to repeat it.
//! An archive never changes: a new run is a new folder.

mod sources;
mod stub;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::sums;
use sources::Source;
use steer_result::{AbResult, archive};
pub(crate) use stub::{machine, words};

/// What to archive, and where.
#[derive(Debug, Clone)]
pub struct ArchiveOptions {
    /// Results, other JSON files, or folders that `steer-bench ab` or `run` wrote.
    pub sources: Vec<PathBuf>,
    /// The folder to make. It must not exist.
    pub to: PathBuf,
    /// The commit that was measured; by default the commit that is checked out here.
    pub commit: Option<String>,
}

/// Makes an archive, and lists its files.
///
/// # Errors
/// The folder exists, a source is not JSON, two sources have the same name, or a file cannot be
/// written. No folder is left behind then.
pub fn run(options: &ArchiveOptions) -> Result<()> {
    let place = options.to.display();
    ensure!(
        !options.to.exists(),
        "{place} exists, and archives are never changed: name a new folder"
    );
    let sources = Source::all(&options.sources)?;
    let commit = options.commit.clone().map_or_else(stub::checked_out, Ok)?;
    fs::create_dir_all(&options.to).with_context(|| format!("cannot make {place}"))?;
    let filled = fill(&options.to, &sources, &commit);
    if filled.is_err() {
        fs::remove_dir_all(&options.to).ok();
    }
    filled?;
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let mut kept: Vec<_> = options.to.read_dir()?.filter_map(|it| Some(it.ok()?.path())).collect();
    kept.sort_unstable();
    for path in &kept {
        println!("{:>8.1} KB  {}", size(path) as f64 / 1e3, path.display());
    }
    println!("Next: write in README.md and run.toml what was asked and found.");
    Ok(())
}

fn fill(folder: &Path, sources: &[Source], commit: &str) -> Result<()> {
    let mut results = Vec::new();
    for Source { name, path } in sources {
        let mut text = archive::text(path)?;
        if let Ok(result) = AbResult::read(path) {
            text = archive::with_typical_timelines(&text, &result)?;
            results.push((name.as_str(), result));
        }
        archive::write(&text, folder, name)
            .with_context(|| format!("cannot archive {}", path.display()))?;
    }
    sums::write(folder)?;
    stub::write(folder, &results, commit)
}
