//! The command line: one variant per subcommand, each handed to the module that does the work.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::lab::LabCommand;

/// A/B benchmarks of CPU schedulers on network traffic.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Every subcommand of `steer-bench`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The virtual lab and the A/B runs in it.
    #[command(flatten)]
    Lab(LabCommand),
}

impl Command {
    /// Runs the subcommand to its end.
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::Lab(command) => command.run(),
        }
    }
}
