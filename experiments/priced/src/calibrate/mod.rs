//! `steer-bench priced calibrate`: microbenchmarks inside the guest measure what the machine's file
//! says, by the guest's own clock.

mod checks;
mod measured;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use steer_ground::progress::Progress;
use steer_ground::style::Style;
use steer_lab::shape::Shape;

use crate::bench::{Bench, BenchOptions};
use crate::guest::{Said, Task};
use crate::hardware::Hardware;
use crate::machine::Machine;
use checks::Check;
use measured::Measured;

/// Cores of each of the two nodes.
const CORES: usize = 4;
const TEST: &str = include_str!("../../guest/calibrate.sh");
/// The largest working set that a node of the guest can hold, in KiB.
const MOST_KIB: usize = 192 << 10;

/// One machine, checked.
#[derive(Debug, Serialize)]
struct Calibration {
    machine: String,
    checks: Vec<Check>,
}

/// Checks machines; all of the project's if none is named.
///
/// # Errors
/// When a machine cannot be read, a guest fails, or a check does.
pub fn run(machines: &[String], bench: &BenchOptions, json: bool) -> Result<()> {
    let all = if machines.is_empty() { Machine::all()? } else { machines.to_vec() };
    let machines: Vec<Machine> =
        all.iter().map(|named| Machine::find(named)).collect::<Result<_>>()?;
    let progress = Progress::rounds(machines.len() as u64);
    let bench = Bench::new(bench, &progress)?;
    let tasks = machines.iter().map(|machine| (machine, task(machine, &bench)));
    let mut done: Vec<Calibration> = Vec::new();
    bench.run(tasks, &progress, |machine, name, said| {
        let checks = checks::all(machine, &measured(&said)?).with_context(|| name.to_owned())?;
        done.push(Calibration { machine: machine.id.clone(), checks });
        Ok(())
    })?;
    drop(progress);
    done.sort_by(|one, two| one.machine.cmp(&two.machine));
    if json {
        println!("{}", serde_json::to_string_pretty(&done)?);
    } else {
        done.iter().for_each(|calibration| print!("{}", text(calibration)));
    }
    let failed = done.iter().flat_map(|it| &it.checks).filter(|check| !check.passed()).count();
    ensure!(failed == 0, "{failed} checks failed");
    Ok(())
}

/// The working sets in KiB: half of the L1, of the L2 and of the L3, and beyond all caches.
fn sizes(machine: &Machine) -> [usize; 4] {
    let [l1, l2, l3] = ["l1", "l2", "l3"].map(|level| machine.count(&format!("cache.{level}_kib")));
    [l1 / 2, l2 / 2, (l3 / 2).min(16 << 10).max(2 * l2), (3 * l3).min(MOST_KIB)]
}

fn task<'a>(machine: &'a Machine, bench: &Bench) -> Task<'a> {
    let sizes = sizes(machine).map(|kib| kib.to_string());
    Task {
        name: format!("calibrate {}", machine.id),
        hardware: Hardware::alone(machine, Shape { sockets: 2, cores: CORES, threads: 1 }),
        test: TEST,
        words: vec![
            ("far", CORES.to_string()),
            ("other", (CORES - 1).to_string()),
            ("cores", CORES.to_string()),
            ("shared", sizes[1].clone()),
            ("filler", sizes[2].clone()),
            ("sizes", sizes.join(" ")),
        ],
        programs: vec![bench.tools.program("calibrate")],
        files: &[],
        profile: false,
        layout: 0,
    }
}

/// Reads what the microbenchmarks printed, a line of JSON each.
fn measured(said: &Said) -> Result<Vec<Measured>> {
    let lines = said.part("lines")?.lines();
    let read = |line| serde_json::from_str(line).with_context(|| format!("reading {line:?}"));
    lines.map(read).collect()
}

/// A table of the checks.
fn text(calibration: &Calibration) -> String {
    let style = Style::Terminal;
    let mut table = style.table();
    table.set_header(["check", "", "measured", "from", "to", "unit"]);
    for check in &calibration.checks {
        let figure = |value: f64| format!("{value:.2}");
        let told = if check.passed() { "ok" } else { "FAILED" };
        table.add_row([
            check.what.clone(),
            told.to_owned(),
            figure(check.measured),
            figure(check.least),
            figure(check.most),
            check.unit.to_owned(),
        ]);
    }
    format!("{}{}\n", style.heading(&calibration.machine), style.lines(table, 2))
}
