//! `steer-bench results`: makes docs/results.md from the archived runs. Each run's `run.toml` says
//! what was asked and which figures answer it. The figures come from the archive.

mod ab;
mod basis;
mod counted;
mod page;
mod programs;
mod quoted;
mod row;
mod run;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

pub use basis::HEADLINE_ROUNDS;
use run::Run;
use steer_result::write_whole;

/// What to read, and what to do with the page.
#[derive(Debug, Clone)]
pub struct ResultsOptions {
    /// The folder of the archived runs.
    pub runs: PathBuf,
    /// Write the page here; - prints it.
    pub out: PathBuf,
    /// Write nothing, and fail if the page does not match the runs.
    pub check: bool,
}

/// Writes the page, or checks it.
///
/// # Errors
/// A run cannot be read or lacks what its run.toml asks for, or the page is stale or cannot be
/// written.
pub fn run(options: &ResultsOptions) -> Result<()> {
    let page = page(&options.runs)?;
    let place = options.out.display();
    if options.out == Path::new("-") {
        print!("{page}");
    } else if options.check {
        let found =
            fs::read_to_string(&options.out).with_context(|| format!("cannot read {place}"))?;
        ensure!(found == page, "{place} is stale: run `steer-bench results`");
    } else {
        write_whole(&options.out, &page)?;
        println!("{place}");
    }
    Ok(())
}

/// The page of all runs in a folder.
///
/// # Errors
/// A run cannot be read, or lacks what its run.toml asks for.
pub fn page(folder: &Path) -> Result<String> {
    let runs = Run::all(folder)?;
    page::page(&runs)
}
