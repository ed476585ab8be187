//! The flags of the subcommands that show results: `report`, `compare` and `table`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use steer_ground::style::Style;
use steer_report::ReportOptions;
use steer_report::compare::Comparison;
use steer_result::AbResult;

/// Flags of `steer-bench report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench report target/ab/result.json --out report.html
  steer-bench report target/experiments/incast --out incast.html
  steer-bench report result.json --markdown - | gh issue comment 7 --body-file -
  steer-bench report result.json --csv samples.csv

An experiment's page has figures across its points, beside what papers state. The CSV has a row per
steering mode (the column `world`), arm, metric and round; for an experiment, also per point. Values
are in the unit of `steer-bench schema`, and empty if the metric could not be measured.")]
pub(crate) struct ReportArgs {
    /// The result to show (plain, archived, or its folder), or the folder of an experiment that
    /// `steer-bench run` measured.
    #[arg(value_name = "RESULT.JSON|DIR")]
    pub(crate) result: PathBuf,
    /// Write the page here [default: report.html, unless another output is asked for].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write Markdown here (verdict, tables, machine, workload); - prints it.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write every sample here as CSV; - prints it.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}

impl From<ReportArgs> for ReportOptions {
    fn from(args: ReportArgs) -> Self {
        let ReportArgs { result, out, markdown, csv } = args;
        Self { result, out, markdown, csv }
    }
}

/// Flags of `steer-bench compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench compare before/result.json after/result.json
  steer-bench compare A.json B.json --markdown > comparison.md
  steer-bench compare A.json B.json --json | jq '.worlds.hash.scx_steer.rpc_p99'

The two runs are not interleaved. The intervals cover the noise between rounds, not what else changed
between the runs. If that matters, run both as arms of one `steer-bench ab`.")]
pub(crate) struct CompareArgs {
    /// The run to compare with.
    #[arg(value_name = "A.JSON")]
    pub(crate) a: PathBuf,
    /// The run that is compared.
    #[arg(value_name = "B.JSON")]
    pub(crate) b: PathBuf,
    /// Print JSON.
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print Markdown, for issues and READMEs.
    #[arg(long)]
    pub(crate) markdown: bool,
}

impl CompareArgs {
    /// Prints the comparison.
    ///
    /// # Errors
    /// A file cannot be read or is not a result, or the two have nothing in common.
    pub(crate) fn run(&self) -> Result<()> {
        let comparison = Comparison::read(&self.a, &self.b)?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&comparison)?);
        } else {
            print!("{}", comparison.text(style(self.markdown)));
        }
        Ok(())
    }
}

/// Flags of `steer-bench table`.
#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// The result to show: plain, archived, or its folder.
    #[arg(value_name = "RESULT.JSON|DIR")]
    pub(crate) result: PathBuf,
    /// Print Markdown, for issues and READMEs.
    #[arg(long)]
    pub(crate) markdown: bool,
}

impl TableArgs {
    /// Prints the tables of a result.
    ///
    /// # Errors
    /// The file cannot be read or is not a result.
    pub(crate) fn run(&self) -> Result<()> {
        print!("{}", steer_result::table(&AbResult::read(&self.result)?, style(self.markdown)));
        Ok(())
    }
}

fn style(markdown: bool) -> Style {
    if markdown { Style::Markdown } else { Style::Terminal }
}
