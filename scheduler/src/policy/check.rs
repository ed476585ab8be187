//! `scx_steer policy check`.

use anyhow::{Result, bail};
use serde_json::json;
use steer_policy::{CgroupTree, Files, Problem, Settings, Severity, Trust};

use super::{args::CheckArgs, load};

/// Prints all problems. Fails if one of them is an error.
pub(crate) fn run(args: &CheckArgs) -> Result<()> {
    let files = if args.paths.is_empty() {
        load::files(args.policy.policy.as_deref())
    } else {
        let mut files = Files::default();
        args.paths.iter().for_each(|path| files.add(path, Trust::Advised));
        files
    };
    // There are no cgroups here, so the rules are tried on paths made from their own patterns.
    let result = load::effective(&files, Settings::default(), &CgroupTree::default());
    let (problems, rules) = match &result {
        Ok(effective) => (effective.set().warnings(), Some(effective.set().rules().len())),
        Err(problems) => (problems.as_slice(), None),
    };
    if args.json {
        let report = json!({
            "files": files.sources.iter().map(|source| &source.name).collect::<Vec<_>>(),
            "rules": rules,
            "problems": problems,
        });
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        for problem in problems {
            eprintln!("{problem}");
        }
    }
    let of = |severity| problems.iter().filter(|p: &&Problem| p.severity == severity).count();
    let warnings = count(of(Severity::Warning), "warning");
    match rules {
        None => bail!("the policy is refused: {}, {warnings}", count(of(Severity::Error), "error")),
        Some(_) if args.json => {}
        Some(rules) => println!(
            "{} in {}, no errors, {warnings}",
            count(rules, "rule"),
            count(files.sources.len(), "file")
        ),
    }
    Ok(())
}

/// A number with its noun: `1 rule`, `2 rules`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
