//! `steer-bench compare`: two results side by side, A before and B after.

mod doubts;
mod figures;
mod text;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use self::figures::Comparison;
use crate::result::{AbResult, Style};

/// Flags of `steer-bench compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench compare before/result.json after/result.json
  steer-bench compare A.json B.json --markdown > comparison.md
  steer-bench compare A.json B.json --json | jq '.worlds.hash.scx_steer.rpc_p99'

The two runs are not interleaved. The intervals count the noise between rounds; they cannot count
what changed between the runs. Where that matters, run both as arms of one `steer-bench ab`.")]
pub(crate) struct CompareArgs {
    /// The run to compare with.
    #[arg(value_name = "A.JSON")]
    a: PathBuf,
    /// The run that is compared.
    #[arg(value_name = "B.JSON")]
    b: PathBuf,
    /// Print JSON.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown, for issues and READMEs.
    #[arg(long)]
    markdown: bool,
}

/// Prints the comparison.
///
/// # Errors
/// When a file cannot be read or is no result, or the two have nothing in common.
pub(crate) fn run(args: &CompareArgs) -> Result<()> {
    let (a, b) = (AbResult::read(&args.a)?, AbResult::read(&args.b)?);
    let comparison = Comparison::new(&a, &b).with_context(|| {
        format!("cannot compare {} (A) with {} (B)", args.a.display(), args.b.display())
    })?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&comparison)?);
    } else {
        let style = if args.markdown { Style::Markdown } else { Style::Terminal };
        print!("{}", text::text(&comparison, style));
    }
    Ok(())
}
