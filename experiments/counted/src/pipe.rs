//! `--workload pipe`: the instructions of a wake-up, counted from outside. The guest's clock
//! advances by a fixed step per instruction of any CPU. So the time of additional loops is the
//! number of their instructions, in kernel and user space, on all CPUs.
//!
//! When all CPUs are idle, the clock jumps to the next timer. That does not happen in the loops:
//! one of the two processes always runs, or is about to run.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Serialize;

use steer_lab::qemu::NANOSECONDS_PER_INSTRUCTION;
use steer_stats::median;

/// Start of the names of the parts. Placement, round and number of loops follow.
const PART: &str = "pipe/";
/// A loop is a write to the other process, and its answer.
pub(super) const WAKEUPS_PER_LOOP: f64 = 2.0;

/// What a wake-up costs, from the write of one process to the read of the other, including system
/// calls.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Pipe {
    /// With both processes pinned to CPU 0. Not measured while that is busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    one: Option<Cost>,
    /// With both processes wherever the scheduler puts them.
    any: Cost,
}

/// Instructions per wake-up.
#[derive(Debug, PartialEq, Serialize)]
struct Cost {
    /// Median of the rounds.
    instructions: f64,
    /// Every round, in order. Rounds start at different moments between two timer ticks.
    rounds: Vec<f64>,
}

/// Takes perf's outputs out of the parts.
///
/// # Errors
/// When one is missing (those on one CPU unless `one`), or was not printed by perf.
pub(super) fn take(parts: &mut BTreeMap<String, String>, one: bool) -> Result<Pipe> {
    let names: Vec<String> = parts.keys().filter(|name| name.starts_with(PART)).cloned().collect();
    // by placement and round: total times in µs, by number of loops
    let mut times: BTreeMap<(String, u32), BTreeMap<u32, f64>> = BTreeMap::new();
    for name in names {
        let output = parts.remove(&name).unwrap_or_default();
        let (placement, round, loops) = name
            .strip_prefix(PART)
            .and_then(read_name)
            .with_context(|| format!("{name} is not a part of pipe"))?;
        let each = microseconds_per_loop(&output)
            .with_context(|| format!("{name}: unexpected output of perf: {output}"))?;
        let total = each * f64::from(loops);
        times.entry((placement.to_owned(), round)).or_default().insert(loops, total);
    }
    let one = one.then(|| cost("one", &times)).transpose()?;
    Ok(Pipe { one, any: cost("any", &times)? })
}

/// Placement, round and number of loops of a bench.
pub(super) fn read_name(name: &str) -> Option<(&str, u32, u32)> {
    let mut words = name.split('/');
    Some((words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// Reads a line such as `      24.600000 usecs/op`.
fn microseconds_per_loop(output: &str) -> Option<f64> {
    output.lines().find_map(|line| line.trim().strip_suffix("usecs/op")?.trim().parse().ok())
}

/// The cost of one more wake-up: from how much longer the longest bench of a round took than the
/// shortest.
fn cost(placement: &str, times: &BTreeMap<(String, u32), BTreeMap<u32, f64>>) -> Result<Cost> {
    let rounds: Option<Vec<f64>> = times
        .iter()
        .filter(|((of, _), _)| of == placement)
        .map(|(_, by_loops)| {
            let (few, short) = by_loops.first_key_value()?;
            let (many, long) = by_loops.last_key_value()?;
            let wakeups = f64::from(many - few) * WAKEUPS_PER_LOOP;
            let nanoseconds = (long - short) * 1000.0;
            let instructions = nanoseconds / f64::from(NANOSECONDS_PER_INSTRUCTION) / wakeups;
            // a tenth of an instruction is below the resolution of perf's microseconds
            instructions.is_finite().then(|| (instructions * 10.0).round() / 10.0)
        })
        .collect();
    let rounds = rounds.with_context(|| format!("pipe/{placement} ran with only one length"))?;
    let instructions = median(&rounds).with_context(|| format!("pipe/{placement} did not run"))?;
    Ok(Cost { instructions, rounds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn perf(microseconds: f64) -> String {
        format!(
            "# Running 'sched/pipe' benchmark:\n# Executed 1000 pipe operations between two \
             processes\n\n     Total time: 0.013 [sec]\n\n      {microseconds:.6} usecs/op\n          \
             74917 ops/sec\n"
        )
    }

    /// Parts where starting costs 500 µs, and a loop the given times.
    fn parts(one: &[f64], any: &[f64]) -> BTreeMap<String, String> {
        let mut parts = BTreeMap::from([("stat".to_owned(), "cpu 1".to_owned())]);
        for (placement, rounds) in [("one", one), ("any", any)] {
            for (round, each) in rounds.iter().enumerate() {
                for loops in [1000.0, 5000.0] {
                    let output = perf(each + 500.0 / loops);
                    parts.insert(format!("pipe/{placement}/{}/{loops}", round + 1), output);
                }
            }
        }
        parts
    }

    #[test]
    fn takes_out_what_starting_costs() {
        let mut parts = parts(&[8.0, 16.0, 12.0], &[40.0, 40.0, 40.0]);
        let pipe = take(&mut parts, true).unwrap();
        let one = pipe.one.unwrap();
        assert_eq!(one.rounds, [1000.0, 2000.0, 1500.0]);
        assert_eq!((one.instructions, pipe.any.instructions), (1500.0, 5000.0));
        assert_eq!(parts.into_keys().collect::<Vec<_>>(), ["stat"], "the others stay");
    }

    #[test]
    fn says_which_part_is_missing_or_wrong() {
        let message =
            |parts: &mut BTreeMap<String, String>| format!("{:#}", take(parts, true).unwrap_err());
        assert!(message(&mut parts(&[8.0], &[])).contains("pipe/any did not run"));
        let mut short = parts(&[8.0], &[8.0]);
        short.remove("pipe/any/1/1000");
        assert!(message(&mut short).contains("pipe/any ran with only one length"));
        let mut garbled = parts(&[8.0], &[8.0]);
        garbled.insert("pipe/any/1/1000".to_owned(), "perf: not found".to_owned());
        assert!(message(&mut garbled).contains("perf: not found"));
    }
}
