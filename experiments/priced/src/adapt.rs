//! `steer-bench priced adapt`: how soon the thread of a new long flow runs near the NIC, by the
//! guest's clock, and how often it moves after that. The server prints where each of these threads
//! runs, and where its packets arrive, at every change.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::Serialize;
use steer_ground::progress::Progress;
use steer_ground::style::Style;
use steer_ground::word::Word;
use steer_traffic::trace::{Seen, Spread, Trace, settled};

use crate::ab::{self, AbOptions};
use crate::bench::Bench;
use crate::machine::Machine;
use crate::written::write_json;

const FILE: &str = "adapt.json";

/// The long flows of an arm, in the order of their seeds.
#[derive(Debug, Default, Serialize)]
struct Flows {
    /// From a flow's first bytes until its thread stayed on NIC-local CPUs. `None`: it did not.
    near_ms: Vec<Option<f64>>,
    /// Changes of CPU after that.
    moves: Vec<usize>,
    /// What both were computed from.
    traces: Vec<Trace>,
}

/// Measures, writes the file and prints the table.
///
/// # Errors
/// When a guest fails, or a flow was not traced.
pub fn run(mut options: AbOptions) -> Result<()> {
    options.workload.trace_long = true;
    options.check()?;
    options.workload.check_traced()?;
    let options = &options;
    let machine = Machine::find(&options.machine)?;
    let progress = Progress::rounds(options.samples() as u64);
    let bench = Bench::new(&options.bench, &progress)?;
    let near = options.layout().long_cpus;
    let expected = usize::from(options.workload.long_flows);
    let mut traces = BTreeMap::new();
    let (trunks, branches) = ab::guests(options, &machine, &bench)?;
    bench.run_branches(trunks, branches, &progress, |which, name, said| {
        let traced = Trace::all(said.part("server.out")?);
        ensure!(
            traced.len() == expected,
            "{name}: the server traced {} long flows instead of {expected}",
            traced.len()
        );
        let arm = format!("{}, {}", which.world.word(), which.arm.name);
        traces.insert((arm, which.seed), traced);
        Ok(())
    })?;
    drop(progress);
    let mut arms: BTreeMap<String, Flows> = BTreeMap::new();
    for ((name, _), traced) in traces {
        let flows = arms.entry(name).or_default();
        traced.into_iter().for_each(|trace| flows.add(trace, &near));
    }
    let path = write_json(&options.out, FILE, &arms)?;
    print!("{}", table(&arms));
    println!("\nAll flows: {}", path.display());
    Ok(())
}

impl Flows {
    fn add(&mut self, trace: Trace, near: &[usize]) {
        let near_ms = settled(&trace.0, |seen| near.contains(&seen.cpu));
        let begin = trace.0.first().map_or(0.0, |seen| seen.at_ms);
        let after = trace.from(near_ms.map_or(f64::INFINITY, |ms| begin + ms));
        let moved = |pair: &&[Seen]| pair[0].cpu != pair[1].cpu;
        self.moves.push(after.windows(2).filter(moved).count());
        self.near_ms.push(near_ms);
        self.traces.push(trace);
    }
}

fn table(arms: &BTreeMap<String, Flows>) -> String {
    let mut table = Style::Terminal.table();
    table.set_header([
        "new long flow near the NIC after",
        "p50 ms",
        "p90",
        "max",
        "never",
        "moves",
    ]);
    for (name, flows) in arms {
        let spread = Spread::of(&flows.near_ms);
        let ms = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.2}"));
        table.add_row([
            name.clone(),
            ms(spread.p50),
            ms(spread.p90),
            ms(spread.max),
            format!("{} of {}", spread.never, flows.near_ms.len()),
            flows.moves.iter().sum::<usize>().to_string(),
        ]);
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_near_from_when_it_stays_near() {
        let trace = |seen: &[(f64, usize)]| {
            let seen = seen.iter().map(|&(at_ms, cpu)| Seen { at_ms, cpu, packets_on: 2 });
            Trace(seen.collect())
        };
        let moving = trace(&[(10.0, 0), (11.0, 3), (11.5, 1), (12.5, 2), (20.0, 3), (30.0, 2)]);
        let away = trace(&[(10.0, 0)]);
        let mut flows = Flows::default();
        flows.add(moving, &[2, 3]);
        flows.add(away, &[2, 3]);
        assert_eq!((flows.near_ms, flows.moves), (vec![Some(2.5), None], vec![2, 0]));
    }
}
