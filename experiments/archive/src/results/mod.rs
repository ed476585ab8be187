//! `steer-bench results`: docs/results.md, made from the archived runs. Each run's `run.toml` says
//! what was asked and which figures answer it; the figures are the archive's own.

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

use run::Run;
use steer_result::write_whole;

/// What to read, and what to do with the page.
#[derive(Debug, Clone)]
pub struct ResultsOptions {
    /// The folder of the archived runs.
    pub runs: PathBuf,
    /// Write the page here; - prints it.
    pub out: PathBuf,
    /// Write nothing, and fail if the page is not what the runs come to.
    pub check: bool,
}

/// Writes the page, or checks it.
///
/// # Errors
/// When a run cannot be read, its run.toml asks for what it does not have, the page cannot be
/// written, or is stale.
pub fn run(options: &ResultsOptions) -> Result<()> {
    let page = page(&options.runs)?;
    let place = options.out.display();
    if options.out == Path::new("-") {
        print!("{page}");
    } else if options.check {
        let found =
            fs::read_to_string(&options.out).with_context(|| format!("cannot read {place}"))?;
        ensure!(found == page, "{place} is stale: `steer-bench results` makes it anew");
    } else {
        write_whole(&options.out, &page)?;
        println!("{place}");
    }
    Ok(())
}

/// The page of all runs in a folder.
///
/// # Errors
/// When a run cannot be read, or its run.toml asks for what it does not have.
pub fn page(folder: &Path) -> Result<String> {
    let runs = Run::all(folder)?;
    page::page(&runs)
}
