//! The flags of `steer-bench run`.

use std::path::PathBuf;

use clap::Args;
use steer_ab::experiment::ExperimentOptions;

/// Flags of `steer-bench run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Results lie in DIR/EXPERIMENT/POINT, the report across the points in
DIR/EXPERIMENT/report.html. After an interruption the same command goes on where it stopped.

Exit codes: 0 all points are measured, or skipped with a reason; 1 one failed.

Examples:
  steer-bench run experiments/specs --smoke
  steer-bench run experiments/specs/long-and-short.toml
  steer-bench run experiments/specs/incast.toml -- --kernel 7.2 --pairs 9")]
pub(crate) struct RunArgs {
    /// Spec files, or folders of them.
    #[arg(required = true, value_name = "PATHS")]
    pub(crate) specs: Vec<PathBuf>,
    /// See that everything runs: of each experiment only the last point, in one world, its arms
    /// (default and scx_steer, if it names none) once each, for two seconds. The figures mean nothing.
    #[arg(long)]
    pub(crate) smoke: bool,
    /// Check the files and print the runs they come to; measure nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Folder for the results.
    #[arg(long, value_name = "DIR", default_value = "target/experiments")]
    pub(crate) out: PathBuf,
    /// Options for every run, before those of the files; as of `steer-bench ab`.
    #[arg(last = true, value_name = "OPTIONS")]
    pub(crate) options: Vec<String>,
}

impl From<RunArgs> for ExperimentOptions {
    fn from(args: RunArgs) -> Self {
        let RunArgs { specs, smoke, dry_run, out, options } = args;
        Self { specs, smoke, dry_run, out, options }
    }
}
