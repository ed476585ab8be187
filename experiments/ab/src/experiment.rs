//! `steer-bench run`: the experiments of spec files, point by point. A point that has a result is
//! not measured again. If a point fails, the others are still measured.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::unsupported::Unsupported;
use crate::plan::{AbPlan, REPORT};
use crate::run::measured;
use steer_result::AbResult;
use steer_result::spec::{self, Options, Point, Spec};

/// The experiments to run, and how.
#[derive(Debug, Clone)]
pub struct ExperimentOptions {
    /// Spec files, or folders of them.
    pub specs: Vec<PathBuf>,
    /// Whether to run only the last point of each experiment, briefly, to check that everything
    /// runs.
    pub smoke: bool,
    /// Whether to print the runs without measuring anything.
    pub dry_run: bool,
    /// Folder for the results.
    pub out: PathBuf,
    /// Options of `steer-bench ab` for every run. They override the options in the files.
    pub options: Vec<String>,
}

/// What became of a point.
enum Outcome {
    Measured(Box<AbResult>),
    /// This machine or kernel lacks what the point needs.
    Skipped(String),
    Failed(String),
}

/// Parses a command line of `steer-bench ab`, without the subcommand's name.
pub(crate) type ReadLine<'a> = &'a dyn Fn(&[String]) -> Result<AbPlan>;

/// Runs all points of all files.
///
/// # Errors
/// A file is invalid: nothing is measured then. Or a point failed: the others are measured first.
pub fn run(options: &ExperimentOptions, read: ReadLine<'_>) -> Result<()> {
    let specs: Vec<Spec> =
        spec::files(&options.specs)?.iter().map(|path| Spec::read(path)).collect::<Result<_>>()?;
    let mut runs = Vec::new();
    for spec in &specs {
        // A smoke run measures only the last point, which needs most.
        let skipped = if options.smoke { spec.points.len() - 1 } else { 0 };
        for point in &spec.points[skipped..] {
            let line = options.line(spec, point);
            let parsed = read(&line)
                .and_then(|plan| plan.check().map(|()| plan))
                .with_context(|| format!("{}, point {}", spec.name, point.name))?;
            runs.push((spec, point, line, parsed));
        }
    }
    if options.dry_run {
        runs.iter().for_each(|(_, _, line, _)| println!("steer-bench ab {}", line.join(" ")));
        return Ok(());
    }
    for spec in &specs {
        println!("{}: {} ({})", spec.name, spec.question, spec.source);
        spec.caveat.iter().for_each(|caveat| println!("    {caveat}"));
    }
    for spec in &specs {
        spec.keep(&options.out.join(&spec.name))?;
    }
    let all = runs.len();
    let mut failed = 0;
    for (index, (spec, point, line, parsed)) in runs.into_iter().enumerate() {
        println!("[{}/{all}] {}, {}", index + 1, spec.name, point.name);
        match measure(parsed, line) {
            Outcome::Measured(result) => print!("{}", steer_result::brief(&result)),
            Outcome::Skipped(reason) => println!("skipped: {reason}"),
            Outcome::Failed(reason) => {
                failed += 1;
                println!("FAILED: {reason}");
            }
        }
    }
    for spec in specs.iter().filter(|_| !options.smoke) {
        let folder = options.out.join(&spec.name);
        match steer_report::write_experiment(&folder, &folder.join(REPORT)) {
            Ok(()) => println!("{}", folder.join(REPORT).display()),
            Err(error) => println!("{}: no report: {error:#}", spec.name),
        }
    }
    if failed > 0 {
        bail!("{failed} of {all} points failed");
    }
    Ok(())
}

impl ExperimentOptions {
    /// The options of a point's run. The user's override the point's, and these the experiment's.
    fn line(&self, spec: &Spec, point: &Point) -> Vec<String> {
        let out = self.out.join(&spec.name).join(&point.name);
        let mut options = point.options.or(&spec.options);
        if self.smoke {
            options = Options::of(&[
                ("pairs", "1"),
                ("steering", "hash"),
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

/// Measures a point, unless it has a complete result already.
fn measure(options: AbPlan, line: Vec<String>) -> Outcome {
    let command: Vec<String> =
        ["steer-bench", "ab"].map(String::from).into_iter().chain(line).collect();
    if let Some(result) = finished(&options) {
        return Outcome::Measured(Box::new(result));
    }
    match measured(options, command) {
        Ok(result) => Outcome::Measured(Box::new(result)),
        Err(error) => match error.downcast_ref::<Unsupported>() {
            Some(reason) => Outcome::Skipped(reason.to_string()),
            None => Outcome::Failed(format!("{error:#}")),
        },
    }
}

/// The complete result of the same plan, if there is one.
fn finished(plan: &AbPlan) -> Option<AbResult> {
    let path = plan.result_path();
    let result = AbResult::read(&path).ok()?;
    let same = result.unfinished.is_none() && result.options == plan.options;
    if !same {
        // The new result replaces this one. Keep it under another name.
        fs::rename(&path, path.with_extension("old.json")).ok();
    }
    same.then_some(result)
}
