//! The virtual lab: kernels, guests, their network and the runs in them.

use anyhow::Result;
use clap::Subcommand;

/// Subcommands that work on the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {}

impl LabCommand {
    /// Runs the subcommand to its end.
    pub(crate) fn run(self) -> Result<()> {
        match self {}
    }
}
