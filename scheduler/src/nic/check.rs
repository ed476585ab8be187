//! `scx_steer nic check`.

use anyhow::{Result, bail};
use serde_json::json;
use steer_policy::{Files, HostConfig, Severity, Trust};

use super::args::CheckArgs;
use super::daemon::files;
use crate::policy::count;

/// Prints all problems. Fails if one of them is an error.
pub(crate) fn run(args: &CheckArgs) -> Result<()> {
    let files = match &args.file {
        None => files(None),
        Some(path) => {
            let mut files = Files::default();
            files.add(path, Trust::Advised);
            files
        }
    };
    let read = HostConfig::read(&files);
    let problems = match &read {
        Ok(config) => config.warnings(),
        Err(problems) => problems.as_slice(),
    };
    if args.json {
        let report = json!({ "wanted": read.as_ref().ok(), "problems": problems });
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        problems.iter().for_each(|problem| eprintln!("{problem}"));
    }
    match &read {
        Err(problems) => {
            let errors = problems.as_slice().iter().filter(|it| it.severity == Severity::Error);
            bail!("the host file is refused: {}", count(errors.count(), "error"))
        }
        Ok(_) if args.json => Ok(()),
        Ok(config) => {
            let warnings = count(config.warnings().len(), "warning");
            println!("{}, no errors, {warnings}", count(config.nics.len(), "NIC"));
            Ok(())
        }
    }
}
