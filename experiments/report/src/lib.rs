//! Shows a result, or an experiment with several: one self-contained HTML file (no network, no
//! scripts, light and dark), Markdown for issues, CSV for other tools.

mod bars;
pub mod compare;
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
mod targets;
mod timeline;
mod verdicts;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use maud::Markup;

use experiment::Experiment;
use steer_result::{AbResult, archive, write_whole};

/// Where the page goes if no other output is asked for.
const PAGE: &str = "report.html";

/// What to show, and where to write it.
#[derive(Debug, Clone)]
pub struct ReportOptions {
    /// The result to show (plain, archived, or its folder), or the folder of an experiment that
    /// `steer-bench run` measured.
    pub result: PathBuf,
    /// Write the page here.
    pub out: Option<PathBuf>,
    /// Write Markdown here: verdict, tables, machine, workload; - prints it.
    pub markdown: Option<PathBuf>,
    /// Write every sample here as CSV; - prints it.
    pub csv: Option<PathBuf>,
}

/// Writes the outputs that are asked for, and prints their paths.
///
/// # Errors
/// The file cannot be read or is not a result, the folder is not an experiment's, or an output
/// cannot be written.
pub fn run(options: &ReportOptions) -> Result<()> {
    // A folder with a result of its own means that result, as in the other commands.
    if options.result.is_dir() && archive::locate(&options.result).is_err() {
        let read = Experiment::read(&options.result)?;
        options.put_all(&read, experiment::page, experiment::markdown, experiment::csv)
    } else {
        let result = AbResult::read(&options.result)?;
        options.put_all(&result, page::page, markdown::markdown, csv::csv)
    }
}

impl ReportOptions {
    /// Writes the outputs that are asked for.
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

/// Writes a text to a file and prints its path, or prints the text.
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
/// The file cannot be written.
pub fn write(result: &AbResult, path: &Path) -> Result<()> {
    write_whole(path, &page::page(result).into_string())
}

/// Writes the page of an experiment.
///
/// # Errors
/// Its results cannot be read, there are none, or the file cannot be written.
pub fn write_experiment(folder: &Path, path: &Path) -> Result<()> {
    write_whole(path, &experiment::page(&Experiment::read(folder)?).into_string())
}
