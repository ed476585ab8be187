//! The subcommands that read a result: `table` and `schema`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::{AbResult, Style, schema};

/// Flags of `steer-bench table`.
#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// The result to show.
    #[arg(value_name = "RESULT.JSON")]
    result: PathBuf,
    /// Print Markdown, for issues and READMEs.
    #[arg(long)]
    markdown: bool,
}

/// Prints the tables of a result.
///
/// # Errors
/// When the file cannot be read or is no result.
pub(crate) fn table(args: &TableArgs) -> Result<()> {
    let style = if args.markdown { Style::Markdown } else { Style::Terminal };
    print!("{}", super::table(&AbResult::read(&args.result)?, style));
    Ok(())
}

/// Prints the JSON Schema of results.
///
/// # Errors
/// When the schema cannot be encoded.
pub(crate) fn schema() -> Result<()> {
    print!("{}", schema::text()?);
    Ok(())
}
