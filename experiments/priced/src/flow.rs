//! `steer-bench priced flow`: one TCP flow into a machine, with softirq and thread on CPUs as the
//! host-network-stack paper and the multicore paper had them. Three nodes of two CPUs: 0 and 1; 2
//! and 3, with the NIC; 4 and 5 drive the traffic.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use steer_ground::progress::Progress;
use steer_ground::style::Style;
use steer_lab::shape::Shape;

use crate::bench::{Bench, BenchOptions};
use crate::guest::{Said, Task};
use crate::hardware::{Hardware, NO_WATCHDOGS, Network, Pace, Wire};
use crate::machine::Machine;
use crate::marks::{Cpu, MEASURED, Mark};

const TEST: &str = include_str!("../guest/flow.sh");
const SHAPE: Shape = Shape { sockets: 2, cores: 2, threads: 1 };
const NODE_MIB: u32 = 768;
/// Time of the guest before the measured one: by then caches and windows have settled.
const WARM_MS: u32 = 10;

/// CPUs in use that neither softirq nor thread ran on, at most: what kernel threads take.
const MOST_ELSEWHERE: f64 = 0.1;

/// CPUs of softirq and thread, and what that is. The first is what the others are compared with.
const PLACEMENTS: [(usize, usize, &str); 5] = [
    (2, 2, "NIC's node, one core"),
    (2, 3, "NIC's node, two cores"),
    (2, 0, "softirq on the NIC's node, thread on the other"),
    (0, 0, "the other node, one core"),
    (0, 1, "the other node, two cores"),
];

/// What to run.
#[derive(Debug, Clone)]
pub struct FlowOptions {
    /// Machines, by name or file.
    pub machines: Vec<String>,
    /// Largest packet.
    pub mtu: u32,
    /// Seeds, from 0: each moves the flow against the timer ticks.
    pub seeds: u32,
    /// Measured time of the guest, in ms.
    pub span_ms: u32,
    /// How to run guests.
    pub bench: BenchOptions,
}

/// One placement, measured once.
#[derive(Debug, Clone, Serialize)]
struct Flow {
    machine: String,
    mtu: u32,
    seed: u32,
    softirq: usize,
    thread: usize,
    gbits_per_s: f64,
    /// Gb/s per CPU-second of the CPUs that softirq and thread ran on.
    gbits_per_core: f64,
    /// CPUs in use, of these.
    busy: f64,
    /// Share of that time in which they waited for memory.
    stalled: f64,
    /// CPUs in use, of the other measured ones.
    elsewhere: f64,
}

/// What `guest/flow.c` prints.
#[derive(Debug, Deserialize)]
struct Received {
    bytes: f64,
    ns: f64,
}

/// Measures all placements on each machine, with each seed.
///
/// # Errors
/// When a machine cannot be read, or a guest fails.
pub fn run(options: &FlowOptions, json: bool) -> Result<()> {
    let machines: Vec<Machine> =
        options.machines.iter().map(|named| Machine::find(named)).collect::<Result<_>>()?;
    let progress = Progress::rounds(machines.len() as u64 * u64::from(options.seeds));
    let bench = Bench::new(&options.bench, &progress)?;
    let tasks = machines
        .iter()
        .flat_map(|machine| (0..options.seeds).map(move |seed| (machine, seed)))
        .map(|it @ (machine, seed)| (it, task(options, machine, seed, &bench)));
    let mut flows = Vec::new();
    bench.run(tasks, &progress, |(machine, seed), name, said| {
        let of_guest = measured(machine, options.mtu, seed, &said);
        flows.extend(of_guest.with_context(|| name.to_owned())?);
        Ok(())
    })?;
    drop(progress);
    if json {
        println!("{}", serde_json::to_string_pretty(&flows)?);
    } else {
        machines.iter().for_each(|machine| print!("{}", text(machine, options, &flows)));
    }
    Ok(())
}

fn task<'a>(options: &FlowOptions, machine: &'a Machine, seed: u32, bench: &Bench) -> Task<'a> {
    let network = Network { queues: 1, steering: Wire::Hash };
    let hardware = Hardware {
        machine,
        shape: SHAPE,
        node_mib: NODE_MIB,
        network: Some(network),
        pace: Pace::PRICED,
        kernel_words: NO_WATCHDOGS,
    };
    let placements = PLACEMENTS.map(|(softirq, thread, _)| format!("{softirq}-{thread}"));
    Task {
        name: format!("flow {}, MTU {}, seed {seed}", machine.id, options.mtu),
        hardware,
        test: TEST,
        words: vec![
            ("mtu", options.mtu.to_string()),
            ("seed", seed.to_string()),
            ("warm_ms", WARM_MS.to_string()),
            ("span_ms", options.span_ms.to_string()),
            ("client_cpu", hardware.clients().start.to_string()),
            ("placements", placements.join(" ")),
        ],
        programs: ["calibrate", "flow"].map(|name| bench.tools.program(name)).into(),
        files: &[],
        profile: false,
    }
}

/// The placements of one guest. The receiver marks the span that it measures.
fn measured(machine: &Machine, mtu: u32, seed: u32, said: &Said) -> Result<Vec<Flow>> {
    let marks = said.marks.iter().filter(|mark| mark.mark == MEASURED);
    let flow = |(&(softirq, thread, _), mark): (&(usize, usize, &str), &Mark)| {
        let line = said.part(&format!("{softirq}-{thread}"))?;
        let received: Received = serde_json::from_str(line.trim()).context("reading the flow")?;
        let cpus: &[usize] = if softirq == thread { &[softirq] } else { &[softirq, thread] };
        let sum = |of: fn(&Cpu) -> f64| cpus.iter().map(|&cpu| of(&mark.cpus[cpu])).sum::<f64>();
        let (busy_s, stall_s) = (sum(|cpu| cpu.busy_s()), sum(|cpu| cpu.stall_s()));
        let all_s: f64 = mark.cpus[..SHAPE.cpus()].iter().map(Cpu::busy_s).sum();
        let elsewhere = (all_s - busy_s) / mark.seconds();
        ensure!(
            elsewhere < MOST_ELSEWHERE,
            "softirq {softirq}, thread {thread}: other CPUs were in use ({elsewhere:.2})"
        );
        let gbits = 8.0 * received.bytes / 1e9;
        Ok(Flow {
            machine: machine.id.clone(),
            mtu,
            seed,
            softirq,
            thread,
            gbits_per_s: gbits / (received.ns / 1e9),
            gbits_per_core: gbits / busy_s,
            busy: busy_s / mark.seconds(),
            stalled: stall_s / busy_s,
            elsewhere,
        })
    };
    PLACEMENTS.iter().zip(marks).map(flow).collect()
}

/// A table of a machine: medians over the seeds, and the range of what a core does.
fn text(machine: &Machine, options: &FlowOptions, flows: &[Flow]) -> String {
    let style = Style::Terminal;
    let mut table = style.table();
    table.set_header(["placement", "Gb/s", "a core", "from", "to", "", "CPUs", "stalled"]);
    let mut best = None;
    for (softirq, thread, what) in PLACEMENTS {
        let of_placement: Vec<&Flow> = flows
            .iter()
            .filter(|it| (it.softirq, it.thread) == (softirq, thread) && it.machine == machine.id)
            .collect();
        let sorted = |of: fn(&Flow) -> f64| {
            let mut values: Vec<f64> = of_placement.iter().map(|flow| of(flow)).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let per_core = sorted(|flow| flow.gbits_per_core);
        let (Some(least), Some(most)) = (per_core.first(), per_core.last()) else { continue };
        let median = |of: fn(&Flow) -> f64| {
            let values = sorted(of);
            values[values.len() / 2]
        };
        let middle = median(|flow| flow.gbits_per_core);
        let best = *best.get_or_insert(middle);
        table.add_row([
            what.to_owned(),
            format!("{:.2}", median(|flow| flow.gbits_per_s)),
            format!("{middle:.2}"),
            format!("{least:.2}"),
            format!("{most:.2}"),
            format!("{:+.0} %", 100.0 * (middle / best - 1.0)),
            format!("{:.2}", median(|flow| flow.busy)),
            format!("{:.2}", median(|flow| flow.stalled)),
        ]);
    }
    let heading = format!("{}, MTU {}, {} seeds", machine.id, options.mtu, options.seeds);
    format!("{}{}\n", style.heading(&heading), style.lines(table, 1))
}
