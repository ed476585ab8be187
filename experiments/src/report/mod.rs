//! The result as one HTML file that needs nothing else: no network, no scripts, light and dark.

mod bars;
mod cdf;
mod facts;
mod intervals;
mod page;
mod scale;
mod svg;
mod timeline;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::result::AbResult;

/// Flags of `steer-bench report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The result to show.
    #[arg(value_name = "RESULT.JSON")]
    result: PathBuf,
    /// Where to write the page.
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
}

/// Writes the page of a result that is on disk, and says where.
///
/// # Errors
/// When the file cannot be read or is no result, or the page cannot be written.
pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    write(&AbResult::read(&args.result)?, &args.out)?;
    println!("{}", args.out.display());
    Ok(())
}

/// Writes the page of a result.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write(result: &AbResult, path: &Path) -> Result<()> {
    fs::write(path, page::page(result).into_string())
        .with_context(|| format!("cannot write {}", path.display()))
}
