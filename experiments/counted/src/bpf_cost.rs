//! `--bpf-stats`: what each BPF program costs. The kernel counts the runs of each program, and
//! measures their time. On the guest's clock, time is a number of instructions: those of the
//! program, of measuring the time, of interrupts meanwhile, and of other CPUs that QEMU runs
//! meanwhile. All busy CPUs get equal turns, so on average the time must be divided by the number
//! of busy CPUs.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::pipe;
use steer_ground::style::Style;
use steer_lab::agent::BpfProgram;
use steer_lab::qemu::NANOSECONDS_PER_INSTRUCTION;

/// Start of the names of the parts. The span's name follows.
const PART: &str = "bpf/";
/// Start of the names of costs per wake-up. The placement follows.
const PIPE: &str = "pipe/";

/// The counts of every program, by span: the workload, or each bench of pipe.
pub(super) type Spans = BTreeMap<String, Vec<BpfProgram>>;

/// What one program costs, in total or per wake-up.
#[derive(Debug, PartialEq)]
pub struct Cost {
    /// Name of the program.
    pub name: String,
    kind: String,
    /// How often it ran.
    pub runs: f64,
    /// Instructions of all runs.
    pub instructions: f64,
}

/// Takes the counts out of the parts. Each part has two lines of JSON: the kernel's counts before
/// and after the span. Leaves out programs that were unloaded meanwhile.
///
/// # Errors
/// When a part contains something else.
pub(super) fn take(parts: &mut BTreeMap<String, String>) -> Result<Spans> {
    let spans = parts.extract_if(.., |name, _| name.starts_with(PART));
    let span = |(name, text): (String, String)| {
        let counts = |line| serde_json::from_str::<Vec<BpfProgram>>(line).ok();
        let mut counts = text.lines().map_while(counts);
        let (before, mut programs) = counts
            .next()
            .zip(counts.next())
            .with_context(|| format!("{name} does not contain two counts: {text}"))?;
        for program in &mut programs {
            if let Some(before) = before.iter().find(|before| before.id == program.id) {
                program.runs -= before.runs;
                program.ns -= before.ns;
            }
        }
        Ok((name[PART.len()..].to_owned(), programs))
    };
    spans.map(span).collect()
}

/// What each program costs, the most expensive first. Costs are by span, for a workload that keeps
/// `busy_cpus` CPUs busy. For pipe they are by placement, and per wake-up.
pub(super) fn by_span(spans: &Spans, busy_cpus: f64) -> BTreeMap<String, Vec<Cost>> {
    let mut all = BTreeMap::new();
    let mut benches: BTreeMap<&str, Vec<(i64, &[BpfProgram])>> = BTreeMap::new();
    for (name, programs) in spans {
        match pipe::read_name(name) {
            None => {
                let mut costs = costs(&[(1, programs)], 1.0);
                costs.iter_mut().for_each(|cost| cost.instructions /= busy_cpus);
                all.insert(name.clone(), costs);
            }
            Some((placement, _, loops)) => {
                benches.entry(placement).or_default().push((loops.into(), programs));
            }
        }
    }
    let benches = benches.iter().map(|(name, did)| (format!("{PIPE}{name}"), per_wakeup(did)));
    all.extend(benches);
    all
}

/// A table of programs for each span.
pub(super) fn text(spans: &Spans, busy_cpus: f64) -> String {
    // First the spans, then the costs per wake-up.
    let (pipe, others): (Vec<_>, Vec<_>) =
        by_span(spans, busy_cpus).into_iter().partition(|(name, _)| name.starts_with(PIPE));
    let others =
        others.iter().map(|(name, costs)| table(&format!("BPF programs, {name}"), 0, costs));
    let pipe = pipe
        .iter()
        .map(|(name, costs)| table(&format!("BPF programs per wake-up, {name}"), 2, costs));
    others.chain(pipe).collect::<String>()
        + &Style::Terminal.paragraph(
            "Instructions include the cost of counting (not measured), interrupts during the run \
         and, for pipe/any, the turns of the other process's CPU. For traffic they are an \
         estimate: the time of a run divided by the number of busy CPUs.",
        )
}

/// The cost of one more wake-up, from benches by number of loops: the longest minus the shortest.
fn per_wakeup(benches: &[(i64, &[BpfProgram])]) -> Vec<Cost> {
    let longest = benches.iter().map(|(loops, _)| *loops).max();
    let sign = |loops| if Some(loops) == longest { 1 } else { -1 };
    let loops: i64 = benches.iter().map(|(loops, _)| sign(*loops) * loops).sum();
    let signed: Vec<_> = benches.iter().map(|(loops, did)| (sign(*loops), *did)).collect();
    costs(&signed, loops as f64 * pipe::WAKEUPS_PER_LOOP)
}

/// The sum over spans, each with its sign, divided by `amount`. The most expensive program comes
/// first. Leaves out programs that cost less than one instruction.
fn costs(spans: &[(i64, &[BpfProgram])], amount: f64) -> Vec<Cost> {
    let mut sums: BTreeMap<u32, (&BpfProgram, i64, i64)> = BTreeMap::new();
    for (sign, programs) in spans {
        for program in *programs {
            let (_, runs, ns) = sums.entry(program.id).or_insert((program, 0, 0));
            *runs += sign * program.runs as i64;
            *ns += sign * program.ns as i64;
        }
    }
    let cost = |(program, runs, ns): (&BpfProgram, i64, i64)| Cost {
        name: program.name.clone(),
        kind: program.kind.clone(),
        runs: runs as f64 / amount,
        instructions: ns as f64 / f64::from(NANOSECONDS_PER_INSTRUCTION) / amount,
    };
    let mut costs: Vec<_> = sums.into_values().map(cost).collect();
    costs.retain(|cost| cost.runs > 0.0 && cost.instructions >= 1.0);
    costs.sort_by(|a, b| b.instructions.total_cmp(&a.instructions));
    costs
}

/// A table of costs. `decimals` applies to the number of runs.
fn table(title: &str, decimals: usize, costs: &[Cost]) -> String {
    let style = Style::Terminal;
    if costs.is_empty() {
        return style.paragraph(&format!("{title}: none ran"));
    }
    let mut table = style.table();
    table.set_header(["program", "kind", "runs", "instructions per run", "in all"]);
    for Cost { name, kind, runs, instructions } in costs {
        let per_run = format!("{:.0}", instructions / runs);
        let (runs, all) = (format!("{runs:.decimals$}"), format!("{instructions:.0}"));
        table.add_row([name.as_str(), kind, &runs, &per_run, &all]);
    }
    let all: f64 = costs.iter().map(|cost| cost.instructions).sum();
    table.add_row(["all", "", "", "", &format!("{all:.0}")]);
    style.heading(title) + &style.lines(table, 2) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line as the guest prints it: two programs of a scheduler, and one that never ran.
    fn counts(tick: (u64, u64), wake: (u64, u64)) -> String {
        let one = |id: u32, name: &str, kind: &str, (runs, ns): (u64, u64)| {
            format!(r#"{{"id":{id},"name":"{name}","kind":"{kind}","runs":{runs},"ns":{ns}}}"#)
        };
        let programs = [
            one(7, "steer_tick", "struct_ops", tick),
            one(8, "steer_select_cpu", "struct_ops", wake),
            one(9, "telemetry_send", "tracing", (0, 0)),
        ];
        format!("[{}]\n", programs.join(","))
    }

    fn parts(spans: &[(&str, &str, &str)]) -> BTreeMap<String, String> {
        let part = |(name, before, after): &(&str, &str, &str)| {
            (format!("bpf/{name}"), format!("{before}{after}"))
        };
        let mut parts: BTreeMap<_, _> = spans.iter().map(part).collect();
        parts.insert("stat".to_owned(), "cpu 1".to_owned());
        parts
    }

    #[test]
    fn a_span_is_what_was_counted_meanwhile() {
        let (before, after) = (counts((1, 400), (10, 80)), counts((3, 1000), (1010, 800_080)));
        let mut parts = parts(&[("traffic", &before, &after), ("overload", "[]\n", &after)]);
        let spans = take(&mut parts).unwrap();
        assert_eq!(parts.into_keys().collect::<Vec<_>>(), ["stat"], "the others stay");
        let of = |span: &str| -> Vec<_> {
            spans[span].iter().map(|p| (p.name.as_str(), p.runs, p.ns)).collect()
        };
        let idle = ("telemetry_send", 0, 0);
        let expected = [("steer_tick", 2, 600), ("steer_select_cpu", 1000, 800_000), idle];
        assert_eq!(of("traffic"), expected);
        let loaded_since = [("steer_tick", 3, 1000), ("steer_select_cpu", 1010, 800_080), idle];
        assert_eq!(of("overload"), loaded_since);
    }

    #[test]
    fn counts_that_cannot_be_read_are_shown() {
        for text in ["", "[]\n", "[]\nsteer-bench: not found\n"] {
            let error = take(&mut parts(&[("traffic", text, "")])).unwrap_err();
            let wanted = format!("bpf/traffic does not contain two counts: {text}");
            assert_eq!(format!("{error:#}"), wanted);
        }
    }

    #[test]
    fn the_most_expensive_comes_first() {
        let spans = take(&mut parts(&[
            ("traffic", "[]\n", &counts((50, 100_000), (1000, 800_000))),
            ("overload", "[]\n", "[]\n"),
        ]));
        insta::assert_snapshot!(text(&spans.unwrap(), 4.0));
    }

    #[test]
    fn of_pipe_it_is_per_wakeup_without_what_starting_costs() {
        // starting costs 30 wake-ups and 9 ticks; a loop costs 2 wake-ups of 1000 instructions and,
        // on one CPU, a hundredth of a tick
        let bench = |loops: u64, ticks: u64| {
            counts((9 + ticks, (9 + ticks) * 2000), (30 + 2 * loops, (30 + 2 * loops) * 4000))
        };
        let nothing = counts((0, 0), (0, 0));
        let spans = take(&mut parts(&[
            ("one/1/1000", &nothing, &bench(1000, 20)),
            ("one/1/5000", &nothing, &bench(5000, 100)),
            ("one/2/1000", &nothing, &bench(1000, 20)),
            ("one/2/5000", &nothing, &bench(5000, 100)),
            ("any/1/1000", &nothing, &bench(1000, 0)),
            ("any/1/5000", &nothing, &bench(5000, 0)),
        ]));
        insta::assert_snapshot!(text(&spans.unwrap(), 1.0));
    }
}
