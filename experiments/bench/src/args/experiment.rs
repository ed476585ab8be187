//! The flags of `steer-bench run`.

use std::path::PathBuf;

use clap::Args;
use steer_ab::experiment::ExperimentOptions;

/// Flags of `steer-bench run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Results go to DIR/EXPERIMENT/POINT, and the report across the points to
DIR/EXPERIMENT/report.html. After an interruption, the same command continues where it stopped.

Exit codes: 0 all points were measured, or skipped with a reason; 1 a point failed.

Examples:
  steer-bench run experiments/specs --smoke
  steer-bench run experiments/specs/long-and-short.toml
  steer-bench run experiments/specs/incast.toml -- --kernel 7.2 --pairs 9")]
pub(crate) struct RunArgs {
    /// Spec files, or folders of them.
    #[arg(required = true, value_name = "PATHS")]
    pub(crate) specs: Vec<PathBuf>,
    /// Check that everything runs: measure only the last point of each experiment, in one steering
    /// mode, each arm once, for two seconds. The figures mean nothing. An experiment that names no
    /// arms runs default and scx_steer.
    #[arg(long)]
    pub(crate) smoke: bool,
    /// Check the files and print their runs; measure nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Folder for the results.
    #[arg(long, value_name = "DIR", default_value = "target/experiments")]
    pub(crate) out: PathBuf,
    /// Options of `steer-bench ab` for every run. They override those of the files, but lists
    /// such as --arms are added to those of the files.
    #[arg(last = true, value_name = "OPTIONS")]
    pub(crate) options: Vec<String>,
}

impl From<RunArgs> for ExperimentOptions {
    fn from(args: RunArgs) -> Self {
        let RunArgs { specs, smoke, dry_run, out, options } = args;
        Self { specs, smoke, dry_run, out, options }
    }
}
