//! `scx_steer nic status`.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;
use steer_nic::{IrqState, Live, NapiState, NicState, Writer, writers};
use steer_topology::{CpuSet, Direction, Machine};

use super::args::StatusArgs;
use super::table;

const COLUMNS: [&str; 11] =
    ["QUEUE", "IRQ", "ASKED", "NOW", "XPS", "RPS", "RFS", "NAPI", "DEFER", "FLUSH", "SUSPEND"];

/// Prints the settings as text or JSON.
pub(crate) fn run(args: &StatusArgs) -> Result<()> {
    let machine = Machine::live()?;
    let live = Live::open().context("opening a socket to ask drivers")?;
    let states = states(&live, &machine, &args.interfaces)?;
    let others = writers(Path::new("/"));
    let sock_flows = live.sock_flows()?;
    if args.json {
        let report = json!({ "nics": states, "sock_flows": sock_flows, "writers": others });
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    if states.is_empty() {
        println!("no network interface with a device behind it; name one to see it anyway");
    }
    for state in &states {
        println!("{}", describe(state));
    }
    println!("RFS table of the host: {}", flows(sock_flows));
    others.iter().for_each(|writer| println!("{}", name_writer(writer)));
    Ok(())
}

/// The states of the interfaces named; of all NICs if there are none.
pub(super) fn states(live: &Live, machine: &Machine, names: &[String]) -> Result<Vec<NicState>> {
    let all: Vec<String> = machine.nics.iter().map(|nic| nic.name.clone()).collect();
    let names = if names.is_empty() { &all } else { names };
    names.iter().map(|name| Ok(live.state(machine, name)?)).collect()
}

/// Another program that sets these settings, in one line.
pub(super) fn name_writer(writer: &Writer) -> String {
    let Writer { name, seen, sets, advice } = writer;
    format!("also sets {sets}: {name} ({seen}); {advice}")
}

fn flows(entries: Option<u64>) -> String {
    match entries {
        None => "unknown".into(),
        Some(0) => "off".into(),
        Some(entries) => format!("{entries} flows"),
    }
}

/// One device, several lines.
fn describe(state: &NicState) -> String {
    let mut lines = vec![title(state)];
    lines.extend(features(state).into_iter().map(|line| format!("  {line}")));
    let rows: Vec<Vec<String>> = rows(state);
    lines.extend(table::lines(&COLUMNS, &rows).into_iter().map(|line| format!("  {line}")));
    for irq in state.irqs.iter().filter(|irq| irq.queue.is_none()) {
        lines.push(format!(
            "  IRQ {} ({}) serves no queue: CPU {}",
            irq.number, irq.name, irq.asked
        ));
    }
    lines.join("\n") + "\n"
}

fn title(state: &NicState) -> String {
    let mut words = vec![state.device.name.clone()];
    words.extend(state.device.pci.clone());
    words.extend(state.driver.clone());
    words.extend(state.operstate.clone());
    words.extend(state.speed_mbps.map(|speed| format!("{speed} Mbit/s")));
    words.extend(state.node.map(|node| format!("node {node}")));
    words.push(match &state.local_cpus {
        Some(cpus) => format!("NIC-local CPUs {cpus}"),
        None => "place unknown".into(),
    });
    words.join(", ")
}

fn features(state: &NicState) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(
        state
            .channels
            .map(|channels| format!("channels: {} of at most {}", channels.now, channels.max)),
    );
    lines.extend(state.rss_table.as_ref().map(|table| {
        let queues: CpuSet = table.iter().copied().collect();
        format!("RSS table: {} entries over queues {queues}", table.len())
    }));
    lines.extend(state.ntuple.map(|feature| {
        let on = if feature.on { "on" } else { "off" };
        let rules = state.rules.map_or(String::new(), |rules| format!(", {rules} rules"));
        format!("ntuple filters: {on}{}{rules}", if feature.fixed { " (fixed)" } else { "" })
    }));
    lines.extend(state.rings.map(|rings| {
        format!("rings: rx {} of {}, tx {} of {}", rings.rx, rings.max_rx, rings.tx, rings.max_tx)
    }));
    lines.extend(state.coalesce.map(|it| {
        let adaptive = |on| if on { ", adaptive" } else { "" };
        format!(
            "coalescing: rx {} us, {} frames{}; tx {} us, {} frames{}",
            it.rx_usecs,
            it.rx_frames,
            adaptive(it.adaptive_rx),
            it.tx_usecs,
            it.tx_frames,
            adaptive(it.adaptive_tx)
        )
    }));
    if let (Some(defer), Some(flush)) = (state.defer_hard_irqs, state.gro_flush_timeout) {
        lines.push(format!("polling: deferred IRQs {defer}, GRO flush timeout {flush} ns"));
    }
    lines
}

/// A row for each queue.
fn rows(state: &NicState) -> Vec<Vec<String>> {
    let irq = |direction, index| {
        let serves = |irq: &&IrqState| {
            irq.queue.is_some_and(|queue| {
                queue.index == index && [direction, Direction::Both].contains(&queue.direction)
            })
        };
        state.irqs.iter().find(serves)
    };
    let rx = state.rx.iter().map(|queue| {
        let napi = queue.napi.as_ref();
        let of_napi = |number: fn(&NapiState) -> Option<u32>| known(napi.and_then(number));
        let mut row = vec![format!("rx-{}", queue.index)];
        row.extend(of_irq(irq(Direction::Rx, queue.index)));
        row.extend(["-".into(), cpus(queue.rps.as_ref()), known(queue.rfs_flows)]);
        row.extend([
            napi.map_or("-".into(), context),
            of_napi(|napi| napi.defer_hard_irqs),
            of_napi(|napi| napi.gro_flush_timeout),
            of_napi(|napi| napi.irq_suspend_timeout),
        ]);
        row
    });
    let tx = state.tx.iter().map(|queue| {
        let mut row = vec![format!("tx-{}", queue.index)];
        row.extend(of_irq(irq(Direction::Tx, queue.index)));
        row.push(cpus(queue.xps.as_ref()));
        row.resize(COLUMNS.len(), "-".into());
        row
    });
    rx.chain(tx).collect()
}

/// The number of a NAPI context, and its thread.
fn context(napi: &NapiState) -> String {
    match (napi.thread, &napi.thread_cpus) {
        (Some(thread), Some(cpus)) => format!("{}, thread {thread} on {cpus}", napi.id),
        _ => napi.id.to_string(),
    }
}

fn of_irq(irq: Option<&IrqState>) -> [String; 3] {
    let Some(irq) = irq else { return ["-".into(), "-".into(), "-".into()] };
    let fixed = if irq.fixed { " (fixed)" } else { "" };
    [irq.number.to_string(), format!("{}{fixed}", irq.asked), cpus(irq.effective.as_ref())]
}

fn known<T: ToString>(number: Option<T>) -> String {
    number.map_or("-".into(), |number| number.to_string())
}

fn cpus(cpus: Option<&CpuSet>) -> String {
    match cpus {
        None => "-".into(),
        Some(cpus) if cpus.is_empty() => "none".into(),
        Some(cpus) => cpus.to_string(),
    }
}
