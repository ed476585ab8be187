//! A result, or an experiment of several, for readers: one HTML file that needs nothing else (no
//! network, no scripts, light and dark), Markdown for issues, CSV for other tools.

mod bars;
mod claims;
mod csv;
mod curves;
mod experiment;
mod facts;
mod headline;
mod intervals;
mod latencies;
mod machine;
mod markdown;
mod page;
mod placement;
mod rates;
mod scale;
mod stack;
mod svg;
mod timeline;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use maud::Markup;

use crate::result::{AbResult, write_whole};
use experiment::Experiment;

/// Where the page goes when no other output is asked for.
const PAGE: &str = "report.html";

/// Flags of `steer-bench report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench report target/ab/result.json --out report.html
  steer-bench report target/experiments/incast --out incast.html
  steer-bench report result.json --markdown - | gh issue comment 7 --body-file -
  steer-bench report result.json --csv samples.csv

An experiment's page has a figure across its points, beside what papers state. The CSV has a row per
world, arm, metric and round, of an experiment also per point; values are in the unit of
`steer-bench schema`, and empty where the metric could not be measured.")]
pub(crate) struct ReportArgs {
    /// The result to show, or the folder of an experiment that `steer-bench run` measured.
    #[arg(value_name = "RESULT.JSON|DIR")]
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
/// When the file cannot be read or is no result, the folder is no experiment's, or an output cannot be
/// written.
pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    if args.result.is_dir() {
        let read = Experiment::read(&args.result)?;
        args.put_all(&read, experiment::page, experiment::markdown, experiment::csv)
    } else {
        let result = AbResult::read(&args.result)?;
        args.put_all(&result, page::page, markdown::markdown, csv::csv)
    }
}

impl ReportArgs {
    /// Writes the outputs that are asked for of whatever is shown.
    fn put_all<T>(
        &self,
        shown: &T,
        page: impl Fn(&T) -> Markup,
        markdown: impl Fn(&T) -> String,
        csv: impl Fn(&T) -> String,
    ) -> Result<()> {
        let other = self.markdown.is_some() || self.csv.is_some();
        let path = self.out.clone().or_else(|| (!other).then(|| PAGE.into()));
        if let Some(path) = path {
            put(&page(shown).into_string(), &path)?;
        }
        if let Some(path) = &self.markdown {
            put(&markdown(shown), path)?;
        }
        if let Some(path) = &self.csv {
            put(&csv(shown), path)?;
        }
        Ok(())
    }
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

/// Writes the page of an experiment.
///
/// # Errors
/// When its results cannot be read, there are none, or the file cannot be written.
pub(crate) fn write_experiment(folder: &Path, path: &Path) -> Result<()> {
    write_whole(path, &experiment::page(&Experiment::read(folder)?).into_string())
}
