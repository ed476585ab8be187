//! The flags of `steer-bench results`.

use std::path::PathBuf;

use clap::Args;
use steer_archive::results::ResultsOptions;

/// Flags of `steer-bench results`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench results
  steer-bench results --check
  steer-bench results --out - | less

experiments/runs/README.md describes run.toml.")]
pub(crate) struct ResultsArgs {
    /// The folder of the archived runs.
    #[arg(long, value_name = "DIR", default_value = "experiments/runs")]
    pub(crate) runs: PathBuf,
    /// Write the page here; - prints it.
    #[arg(long, value_name = "FILE", default_value = "docs/results.md")]
    pub(crate) out: PathBuf,
    /// Write nothing, and fail if the page does not match the runs.
    #[arg(long)]
    pub(crate) check: bool,
}

impl From<ResultsArgs> for ResultsOptions {
    fn from(args: ResultsArgs) -> Self {
        let ResultsArgs { runs, out, check } = args;
        Self { runs, out, check }
    }
}
