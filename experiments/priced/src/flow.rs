//! `steer-bench priced flow`: one TCP flow into a machine, with softirq and thread on CPUs as the
//! host-network-stack paper and the multicore paper had them.

use anyhow::Result;
use steer_ground::style::Style;

use crate::bench::BenchOptions;
use crate::flows::{self, Case, Flows, Guest, Setup};
use crate::hardware::RING;
use crate::machine::Machine;

const WARM_MS: u32 = 10;

/// CPUs of softirq and thread, and what that is. The first is what the others are compared with.
const PLACEMENTS: [(Case, &str); 5] = [
    (Case::one_flow(2, 2), "NIC's node, one core"),
    (Case::one_flow(2, 3), "NIC's node, two cores"),
    (Case::one_flow(2, 0), "softirq on the NIC's node, thread on the other"),
    (Case::one_flow(0, 0), "the other node, one core"),
    (Case::one_flow(0, 1), "the other node, two cores"),
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

/// Measures all placements on each machine, with each seed.
///
/// # Errors
/// When a machine cannot be read, or a guest fails.
pub fn run(options: &FlowOptions, json: bool) -> Result<()> {
    let machines: Vec<Machine> =
        options.machines.iter().map(|named| Machine::find(named)).collect::<Result<_>>()?;
    let setup = Setup { mtu: options.mtu, ring: RING, warm_ms: WARM_MS, span_ms: options.span_ms };
    let cases = PLACEMENTS.map(|(case, _)| case);
    let guests: Vec<Guest<'_>> =
        machines.iter().map(|machine| (machine, setup, cases.as_slice())).collect();
    let flows = flows::run(&guests, options.seeds, &options.bench)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&flows)?);
    } else {
        machines.iter().for_each(|machine| print!("{}", text(machine, options, &flows)));
    }
    Ok(())
}

/// A table of a machine: medians over the seeds, and the range of what a core does.
fn text(machine: &Machine, options: &FlowOptions, flows: &[Flows]) -> String {
    let style = Style::Terminal;
    let mut table = style.table();
    table.set_header(["placement", "Gb/s", "a core", "from", "to", "", "CPUs", "stalled"]);
    let mut best = None;
    for (case, what) in PLACEMENTS {
        let of_placement: Vec<&Flows> =
            flows.iter().filter(|it| it.case == case && it.machine == machine.id).collect();
        let sorted = |of: fn(&Flows) -> f64| {
            let mut values: Vec<f64> = of_placement.iter().map(|flow| of(flow)).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let per_core = sorted(|flow| flow.gbits_per_core);
        let (Some(least), Some(most)) = (per_core.first(), per_core.last()) else { continue };
        let median = |of: fn(&Flows) -> f64| {
            let values = sorted(of);
            values[values.len() / 2]
        };
        let middle = median(|flow| flow.gbits_per_core);
        let best = *best.get_or_insert(middle);
        table.add_row([
            what.to_owned(),
            format!("{:.2}", median(Flows::gbits_per_s)),
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
