//! The result for readers: one HTML file that needs nothing else (no network, no scripts, light and
//! dark), Markdown for issues, CSV for other tools.

mod bars;
mod cdf;
mod claims;
mod csv;
mod facts;
mod headline;
mod intervals;
mod markdown;
mod page;
mod scale;
mod stack;
mod svg;
mod timeline;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::result::{AbResult, write_whole};

/// Where the page goes when no other output is asked for.
const PAGE: &str = "report.html";

/// Flags of `steer-bench report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench report target/ab/result.json --out report.html
  steer-bench report result.json --markdown - | gh issue comment 7 --body-file -
  steer-bench report result.json --csv samples.csv

The CSV has a row per world, arm, metric and round; values are in the unit of `steer-bench schema`,
and empty where the metric could not be measured.")]
pub(crate) struct ReportArgs {
    /// The result to show.
    #[arg(value_name = "RESULT.JSON")]
    result: PathBuf,
    /// Write the page here [default: report.html, unless another output is asked for].
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write Markdown here: verdict, tables, machine, workload; - prints it.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write every sample here as CSV; - prints it.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Writes what is asked for of a result that is on disk, and says where.
///
/// # Errors
/// When the file cannot be read or is no result, or an output cannot be written.
pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    let result = AbResult::read(&args.result)?;
    let other = args.markdown.is_some() || args.csv.is_some();
    let page = args.out.clone().or_else(|| (!other).then(|| PAGE.into()));
    if let Some(path) = page {
        write(&result, &path)?;
        println!("{}", path.display());
    }
    if let Some(path) = &args.markdown {
        put(&markdown::markdown(&result), path)?;
    }
    if let Some(path) = &args.csv {
        put(&csv::csv(&result), path)?;
    }
    Ok(())
}

/// Writes a text and says where, or prints it.
fn put(text: &str, path: &Path) -> Result<()> {
    if path == Path::new("-") {
        print!("{text}");
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

/// Writes the page of a result.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write(result: &AbResult, path: &Path) -> Result<()> {
    write_whole(path, &page::page(result).into_string())
}
