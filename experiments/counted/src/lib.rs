//! `steer-bench det`: the deterministic tier. The guest's clock counts instructions, and the guest
//! has no input from outside. So the same seed gives the same run, to the last counter, and a span
//! on that clock is a number of instructions.

mod bpf_cost;
mod counted;
mod guest;
mod options;
mod pipe;
mod traffic;

use std::collections::BTreeMap;
use std::{panic, thread};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

pub use self::bpf_cost::Cost;
use self::bpf_cost::Spans;
use self::counted::Counted;
use self::guest::{Host, Packed};
use self::traffic::Instructions;
pub use options::{RunOptions, Watcher, Workload};
use steer_ground::progress::Progress;

/// Runs a guest. Prints the main reports, or everything that was counted as JSON.
///
/// # Errors
/// When the run fails.
pub fn run(options: &RunOptions, json: bool) -> Result<()> {
    let progress = Progress::spinner();
    let counted = Packed::new(options, &progress)?.run(options.seed, Host::AsItIs, &progress)?;
    drop(progress);
    if json {
        println!("{}", serde_json::to_string(&counted)?);
    } else {
        for report in options.workload.main_reports() {
            println!("{}", serde_json::to_string_pretty(&counted.reports[report])?);
        }
        if let Some(bpf) = counted.reports.get("bpf") {
            let busy = busy_cpus(counted.reports.get("instructions"))?;
            print!("\n{}", bpf_cost::text(&Spans::deserialize(bpf)?, busy));
        }
    }
    Ok(())
}

/// What each BPF program cost in a run that `--json` printed, the most expensive first, by workload
/// and round. For pipe, costs are by placement, as in `pipe/one`, and per wake-up.
///
/// # Errors
/// When it is not such a run, or a run without `--bpf-stats`.
pub fn bpf_costs(record: &Value) -> Result<BTreeMap<String, Vec<Vec<Cost>>>> {
    let reports = record.get("reports").context("it is not a run of `steer-bench det --json`")?;
    let bpf = reports.get("bpf").context("it has no counts of BPF programs: run `--bpf-stats`")?;
    let busy = busy_cpus(reports.get("instructions"))?;
    let mut rounds: BTreeMap<u32, Spans> = BTreeMap::new();
    for (name, programs) in Spans::deserialize(bpf).context("reading what BPF programs did")? {
        let round = pipe::read_name(&name).map_or(0, |(_, round, _)| round);
        rounds.entry(round).or_default().insert(name, programs);
    }
    let mut costs: BTreeMap<String, Vec<Vec<Cost>>> = BTreeMap::new();
    for spans in rounds.values() {
        for (name, of_round) in bpf_cost::by_span(spans, busy) {
            costs.entry(name).or_default().push(of_round);
        }
    }
    Ok(costs)
}

/// How many CPUs were busy; 1 if instructions were not counted by workload.
fn busy_cpus(instructions: Option<&Value>) -> Result<f64> {
    let counted = instructions.map(Instructions::deserialize).transpose()?;
    Ok(counted.map_or(1.0, |instructions| instructions.busy_cpus))
}

/// Runs the same seed `runs` times, then another seed, two guests at a time. From the second time on,
/// the guest is stopped for a quarter of the time and its emulator disturbed for half of the rest: no
/// run may depend on how much of this machine it gets, and when.
///
/// # Errors
/// When a run fails, when runs of one seed differ, or when another seed gives the same run.
pub fn selftest(options: &RunOptions, runs: u64) -> Result<()> {
    let progress = Progress::rounds(runs + 1);
    let packed = Packed::new(options, &progress)?;
    let run = |seed, host| -> Result<Counted> {
        let counted = packed.run(seed, host, &progress)?;
        progress.advance();
        Ok(counted)
    };
    let seed = options.seed;
    let (again, others) = thread::scope(|scope| {
        let again =
            scope.spawn(|| (2..=runs).map(|_| run(seed, Host::Busy)).collect::<Result<Vec<_>>>());
        let others = [seed, seed + 1].map(|seed| run(seed, Host::AsItIs));
        (again.join(), others)
    });
    let again = again.unwrap_or_else(|panic| panic::resume_unwind(panic))?;
    let [first, other] = others;
    let (first, other) = (first?, other?);
    let mut failed = 0;
    for (again, number) in again.iter().zip(2..) {
        let differences = first.differences(again);
        failed += u32::from(!differences.is_empty());
        say(
            &progress,
            differences.is_empty(),
            &format!("run {number} of seed {seed}, stopped now and then, equals run 1"),
        );
        differences.iter().for_each(|difference| progress.say(&format!("    {difference}")));
    }
    let moved = !first.differences(&other).is_empty();
    failed += u32::from(!moved);
    say(&progress, moved, &format!("seed {} gives a different run", seed + 1));
    drop(progress);
    println!("{} passed, {failed} failed", runs - u64::from(failed));
    ensure!(failed == 0, "the deterministic tier is not deterministic");
    Ok(())
}

fn say(progress: &Progress, passed: bool, what: &str) {
    progress.say(&format!("{} {what}", if passed { "ok" } else { "FAILED" }));
}
