//! `scx_steer policy explain`.

use std::fmt::Write;

use anyhow::{Result, bail};
use serde::Serialize;
use steer_policy::{CgroupTree, Explanation, MAX_PROCESS_NAME, Origin, Settings};

use super::{
    args::{ExplainArgs, Target},
    load,
    process::Process,
    threads,
};

/// Prints the origin of each value of a cgroup or process.
pub(crate) fn run(args: &ExplainArgs) -> Result<()> {
    // Report bad arguments before bad files.
    let (cgroup, process) = match (&args.target, &args.process) {
        (Target::Process(_), Some(_)) => bail!("--process goes with a cgroup, not with a PID"),
        (Target::Process(pid), None) => {
            let process = Process::read(*pid)?;
            (process.cgroup, Some(process.name))
        }
        (Target::Cgroup(path), name) => (path.clone(), name.clone()),
    };
    if let Some(name) = process.as_deref().filter(|name| name.len() > MAX_PROCESS_NAME) {
        bail!(
            "no process can be called {name}: the kernel keeps {MAX_PROCESS_NAME} bytes of a name"
        );
    }
    let files = load::files(args.policy.policy.as_deref());
    let effective = load::effective(&files, Settings::default(), &CgroupTree::default())?;
    let explanation = effective.explain(&cgroup, process.as_deref());
    let live = match args.target {
        Target::Process(pid) => threads::read(pid)?,
        Target::Cgroup(_) => None,
    };
    if args.json {
        let all = Explained { explanation: &explanation, threads: live.as_deref() };
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    print!("{}", text(&explanation)?);
    match (live, &args.target) {
        (Some(live), _) => print!("\n{}", threads::text(&live)?),
        (None, Target::Process(_)) => {
            println!(
                "\nas root, while scx_steer is in force, this also shows the class of each thread"
            );
        }
        (None, Target::Cgroup(_)) => {}
    }
    Ok(())
}

/// The whole answer as JSON, for scripts.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    /// How the scheduler in force treats the process's threads; absent if none is in force.
    threads: Option<&'a [threads::LiveThread]>,
}

fn text(explanation: &Explanation) -> Result<String> {
    let mut out = String::new();
    writeln!(out, "cgroup   /{}", explanation.cgroup)?;
    let process = explanation.process.as_deref().unwrap_or("(any that no rule names)");
    writeln!(out, "process  {process}")?;
    writeln!(out)?;
    for value in &explanation.values {
        let shown = value.value.as_deref().unwrap_or("(not set)");
        let from = value.from.as_ref().map_or_else(|| "default".to_string(), origin);
        writeln!(out, "{:<12} {shown:<12} {from}", value.key)?;
        for outvoted in &value.outvoted {
            writeln!(
                out,
                "{:<12} {:<12} {}",
                "  overrides",
                outvoted.value,
                origin(&outvoted.from)
            )?;
        }
    }
    Ok(out)
}

fn origin(from: &Origin) -> String {
    let process =
        from.process.as_ref().map_or_else(String::new, |name| format!(", process \"{name}\""));
    format!("{}  cgroup \"{}\"{process}", from.at, from.cgroup)
}
