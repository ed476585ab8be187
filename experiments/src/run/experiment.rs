//! `steer-bench run`: the experiments of spec files, point by point. What is measured already is
//! not measured again; a point that fails does not keep the others from being measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser};

use super::ab::{self, AbArgs, REPORT};
use super::setup::Unsupported;
use crate::report;
use crate::result::{self, AbResult};
use crate::spec::{self, Options, Point, Spec};

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
    specs: Vec<PathBuf>,
    /// See that everything runs: of each experiment only the last point, in one world, its arms
    /// (default and scx_steer, if it names none) once each, for two seconds. The figures mean nothing.
    #[arg(long)]
    smoke: bool,
    /// Check the files and print the runs they come to; measure nothing.
    #[arg(long)]
    dry_run: bool,
    /// Folder for the results.
    #[arg(long, value_name = "DIR", default_value = "target/experiments")]
    out: PathBuf,
    /// Options for every run, before those of the files; as of `steer-bench ab`.
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// What came of a point.
enum Outcome {
    Measured(Box<AbResult>),
    /// This machine or kernel cannot do what the point is about.
    Skipped(String),
    Failed(String),
}

/// `steer-bench ab`, as a command line of its own.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, args_override_self = true)]
struct AbLine {
    #[command(flatten)]
    args: AbArgs,
}

/// Runs all points of all files.
///
/// # Errors
/// Before anything is measured, when a file is at fault; at the end, when a point failed.
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let specs: Vec<Spec> =
        spec::files(&args.specs)?.iter().map(|path| Spec::read(path)).collect::<Result<_>>()?;
    let mut runs = Vec::new();
    for spec in &specs {
        // in small only the last point, which is the one that asks most
        let skipped = if args.smoke { spec.points.len() - 1 } else { 0 };
        for point in &spec.points[skipped..] {
            let line = args.line(spec, point);
            let parsed = AbLine::try_parse_from(&line)
                .map_err(|error| anyhow::Error::msg(brief(&error.to_string())))
                .and_then(|parsed| parsed.args.check().map(|()| parsed.args))
                .with_context(|| format!("{}, point {}", spec.name, point.name))?;
            runs.push((spec, point, line, parsed));
        }
    }
    if args.dry_run {
        runs.iter().for_each(|(_, _, line, _)| println!("steer-bench ab {}", line.join(" ")));
        return Ok(());
    }
    for spec in &specs {
        println!("{}: {} ({})", spec.name, spec.question, spec.source);
        spec.caveat.iter().for_each(|caveat| println!("    {caveat}"));
    }
    for spec in &specs {
        spec.keep(&args.out.join(&spec.name))?;
    }
    let all = runs.len();
    let mut failed = 0;
    for (index, (spec, point, line, parsed)) in runs.into_iter().enumerate() {
        println!("[{}/{all}] {}, {}", index + 1, spec.name, point.name);
        match measure(parsed, line) {
            Outcome::Measured(result) => print!("{}", result::brief(&result)),
            Outcome::Skipped(reason) => println!("skipped: {reason}"),
            Outcome::Failed(reason) => {
                failed += 1;
                println!("FAILED: {reason}");
            }
        }
    }
    for spec in specs.iter().filter(|_| !args.smoke) {
        let folder = args.out.join(&spec.name);
        match report::write_experiment(&folder, &folder.join(REPORT)) {
            Ok(()) => println!("{}", folder.join(REPORT).display()),
            Err(error) => println!("{}: no report: {error:#}", spec.name),
        }
    }
    if failed > 0 {
        bail!("{failed} of {all} points failed");
    }
    Ok(())
}

impl RunArgs {
    /// The options of a point's run: what is nearer to the user goes first.
    fn line(&self, spec: &Spec, point: &Point) -> Vec<String> {
        let out = self.out.join(&spec.name).join(&point.name);
        let mut options = point.options.or(&spec.options);
        if self.smoke {
            options = Options::of(&[
                ("pairs", "1"),
                ("worlds", "hash"),
                ("warmup", "1"),
                ("duration", "2"),
            ])
            .or(&options)
            .or(&Options::of(&[("arms", "default,scx_steer")]));
        }
        let mut line = options.or(&Options::of(&[("out", &out.to_string_lossy())])).arguments();
        line.extend(self.options.iter().cloned());
        line
    }
}

/// Measures a point, unless the same run is there and whole.
fn measure(args: AbArgs, line: Vec<String>) -> Outcome {
    let command: Vec<String> =
        ["steer-bench", "ab"].map(String::from).into_iter().chain(line).collect();
    if let Some(result) = finished(&args.result_path(), &command) {
        return Outcome::Measured(Box::new(result));
    }
    match ab::measured(args, command) {
        Ok(result) => Outcome::Measured(Box::new(result)),
        Err(error) => match error.downcast_ref::<Unsupported>() {
            Some(reason) => Outcome::Skipped(reason.to_string()),
            None => Outcome::Failed(format!("{error:#}")),
        },
    }
}

/// The result of this very run, if it is there and came to its end.
fn finished(path: &Path, command: &[String]) -> Option<AbResult> {
    let result = AbResult::read(path).ok()?;
    let whole = !result.warnings.iter().any(|warning| warning.starts_with(ab::UNFINISHED));
    let same = whole && result.command == command;
    if !same {
        // it is about to be replaced: keep what was measured under another name
        fs::rename(path, path.with_extension("old.json")).ok();
    }
    same.then_some(result)
}

/// A parser's complaint without its hints for a command line that nobody typed.
fn brief(complaint: &str) -> String {
    let said = complaint.lines().next().unwrap_or_default();
    said.strip_prefix("error: ").unwrap_or(said).to_owned()
}
