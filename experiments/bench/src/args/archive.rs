//! The flags of `steer-bench archive`.

use std::path::PathBuf;

use clap::Args;
use steer_archive::command::ArchiveOptions;

/// Flags of `steer-bench archive`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench archive target/demo --to experiments/runs/2026-11-24-demo
  steer-bench archive one.json two.json --to experiments/runs/2026-11-24-two

A result becomes two files: NAME.json has everything except the samples, and NAME.samples.jsonl.gz
has one sample per line. `table`, `report` and `compare` read them: name NAME.json, or the folder of
a result.json. Of the timelines, it keeps those that a report draws: each arm's in its typical round.
Other JSON becomes NAME.json.gz. README.md and run.toml start with what the results record. Complete
them: write what was asked and found.")]
pub(crate) struct ArchiveArgs {
    /// Results, other JSON files, or folders from `steer-bench ab` or `run`.
    #[arg(value_name = "RESULT.JSON|DIR", required = true)]
    pub(crate) sources: Vec<PathBuf>,
    /// The folder to make. It must not exist.
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
    /// The commit that was measured [default: the commit that is checked out here].
    #[arg(long, value_name = "ID")]
    pub(crate) commit: Option<String>,
}

impl From<ArchiveArgs> for ArchiveOptions {
    fn from(args: ArchiveArgs) -> Self {
        let ArchiveArgs { sources, to, commit } = args;
        Self { sources, to, commit }
    }
}
