//! The measured machine: nodes, caches, cores and CPUs, NICs on their nodes, the CPUs that their
//! queues interrupt, and each CPU's time by class under each arm. Only what the result records is
//! drawn.

mod layout;

use std::collections::BTreeSet;
use std::iter;

use indexmap::IndexMap;
use maud::{Markup, html};

use super::placement::{self, Placement, means};
use super::svg::{self, Anchor};
use layout::{Frame, Kind, Layout, ROW};
use steer_ground::cpus::CpuList;
use steer_result::topology::{Queue, Topology};
use steer_result::{AbResult, CpuShares};

const WIDTH: f64 = 1024.0;
/// Room above for the names of the columns.
const HEAD: f64 = 26.0;
/// A NIC's box.
const NIC: (f64, f64) = (112.0, 46.0);
/// Where the nodes begin, and the columns within.
const NODES: f64 = 136.0;
const CORE: f64 = 164.0;
const CPU: f64 = 222.0;
const QUEUES: f64 = 280.0;
const BARS: f64 = 372.0;
/// Where the bars end.
const RIGHT: f64 = 996.0;
/// Between the bars of two arms.
const GAP: f64 = 18.0;
const BAR: f64 = 14.0;
/// Least share of a CPU's time that the description mentions.
const LEAST: f64 = 0.01;
/// Letters that fit into the column of queues.
const LETTERS: usize = 13;

/// A NIC in one steering mode.
struct Nic<'a> {
    name: &'a str,
    node: Option<u32>,
    queues: &'a [Queue],
}

/// The NICs that the traffic used.
fn nics<'a>(result: &'a AbResult, topology: &'a Topology, mode: &str) -> Vec<Nic<'a>> {
    let queues =
        |all: &'a IndexMap<String, Vec<Queue>>| all.get(mode).map_or(&[][..], Vec::as_slice);
    let first = Nic {
        name: &topology.nic,
        node: result.environment.nic_node,
        queues: queues(&topology.queues),
    };
    let others = topology.other_nics.iter().map(|nic| Nic {
        name: &nic.name,
        node: nic.node,
        queues: queues(&nic.queues),
    });
    iter::once(first).chain(others).collect()
}

/// The machine in one steering mode, under its heading; nothing if the result does not record it.
pub(super) fn machine(result: &AbResult, mode: &str, arms: &[Placement<'_>]) -> Markup {
    let Some(topology) = &result.topology else { return html! {} };
    let Some(layout) = Layout::of(topology, HEAD) else { return html! {} };
    let nics = nics(result, topology, mode);
    let queues: Vec<&Queue> = nics.iter().flat_map(|nic| nic.queues).collect();
    html! {
        h3 { "Where it ran" }
        p.note {
            "Share of each CPU's time over the rounds that the timeline below shows. Blank space is "
            "idle time. " (interrupts(&queues))
        }
        (placement::legend())
        div.scroll {
            (svg::described(
                (WIDTH, layout.bottom),
                "The machine and where threads ran",
                &description(topology, &nics, arms),
                html! {
                    (frames(&layout, &nics))
                    @for nic in &nics { (cabled(&layout, nic)) }
                    (rows(&layout, &queues, arms))
                },
            ))
        }
    }
}

/// Explains the column of queues, and lists the queues that it cannot show.
fn interrupts(queues: &[&Queue]) -> String {
    if queues.is_empty() {
        return "The NIC's queues have no interrupts of their own, as far as is known.".to_owned();
    }
    let free: BTreeSet<(&str, u32)> = queues
        .iter()
        .filter(|queue| only_cpu(queue).is_none())
        .map(|queue| (queue.cpus.as_str(), queue.queue))
        .collect();
    let free: Vec<String> =
        free.iter().map(|(cpus, queue)| format!("queue {queue} (CPUs {cpus})")).collect();
    if free.is_empty() {
        return "A queue stands beside the CPU that it interrupts.".to_owned();
    }
    format!(
        "A queue stands beside the CPU that it interrupts. Not bound to one CPU: {}.",
        free.join(", ")
    )
}

/// The CPU that takes a queue's interrupt, if it is bound to one CPU.
fn only_cpu(queue: &Queue) -> Option<usize> {
    queue.cpus.parse().ok()
}

/// The drawing in words.
fn description(topology: &Topology, nics: &[Nic<'_>], arms: &[Placement<'_>]) -> String {
    let nodes: Vec<String> = topology
        .nodes
        .iter()
        .map(|node| format!("node {}: CPUs {}", node.node, node.cpus))
        .collect();
    let mut text = format!("{}.", nodes.join("; "));
    for Nic { name, node, .. } in nics {
        let place = node.map_or("an unknown node".into(), |node| format!("node {node}"));
        text += &format!(" The NIC {name} is on {place}.");
    }
    for arm in arms {
        for (class, words) in [("long", "long-flow"), ("short", "RPC")] {
            let cpus = arm.timeline.cpus.iter().flat_map(|cpu| {
                let its = means(cpu)
                    .into_iter()
                    .filter(|(name, share)| *name == class && *share >= LEAST);
                its.map(|(_, share)| format!("{:.0} % of CPU {}", 100.0 * share, cpu.cpu))
            });
            let cpus: Vec<String> = cpus.collect();
            let cpus = if cpus.is_empty() { "no CPU".to_owned() } else { cpus.join(", ") };
            text += &format!(" {}: {words} threads used {cpus}.", arm.arm);
        }
    }
    text
}

fn frames(layout: &Layout, nics: &[Nic<'_>]) -> Markup {
    html! {
        @for frame in &layout.frames {
            @let (class, inset) = match frame.kind {
                Kind::Node(_) => ("node", 0.0),
                Kind::Cache => ("cache", 10.0),
                Kind::Core => ("core", 20.0),
            };
            rect x=(NODES + inset) y=(svg::px(frame.top)) width=(WIDTH - NODES - 1.0 - 2.0 * inset)
                height=(svg::px(frame.bottom - frame.top)) rx="3" class=(class) {}
            @match frame.kind {
                Kind::Node(node) => {
                    text x=(NODES + 10.0) y=(svg::px(frame.top + 16.0)) class="name" {
                        (frame.label)
                        @if nics.iter().any(|nic| nic.node == Some(node)) { tspan.note { "  the NIC's" } }
                    }
                }
                Kind::Cache => (svg::text(CORE, frame.top + 14.0, Anchor::Start, "note", &frame.label)),
                Kind::Core => (svg::text(CORE, frame.middle() + 4.0, Anchor::Start, "label", &frame.label)),
            }
        }
    }
}

/// A NIC beside its node; beside no node if its node is unknown.
fn cabled(layout: &Layout, nic: &Nic<'_>) -> Markup {
    let is_home = |frame: &&Frame| matches!(frame.kind, Kind::Node(n) if Some(n) == nic.node);
    let home = layout.frames.iter().find(is_home);
    let middle = home.map_or(HEAD + NIC.1 / 2.0, Frame::middle);
    html! {
        @if home.is_some() { (svg::line((NIC.0, middle), (NODES, middle), "cable")) }
        rect x="0.5" y=(svg::px(middle - NIC.1 / 2.0)) width=(NIC.0 - 0.5) height=(NIC.1) rx="3" class="nic" {}
        (svg::text(NIC.0 / 2.0, middle - 3.0, Anchor::Middle, "label", nic.name))
        (svg::text(NIC.0 / 2.0, middle + 14.0, Anchor::Middle, "note",
            if home.is_some() { "NIC" } else { "NIC, node unknown" }))
    }
}

fn rows(layout: &Layout, queues: &[&Queue], arms: &[Placement<'_>]) -> Markup {
    let step = (RIGHT - BARS + GAP) / arms.len().max(1) as f64;
    let lefts: Vec<f64> = (0..arms.len()).map(|index| BARS + step * index as f64).collect();
    html! {
        (svg::text(QUEUES, 13.0, Anchor::Start, "note", "queue IRQs"))
        @for (arm, left) in arms.iter().zip(&lefts) {
            (svg::text(*left, 13.0, Anchor::Start, "name", arm.arm))
        }
        @for &(cpu, top) in &layout.rows {
            @let baseline = top + ROW / 2.0 + 4.0;
            (svg::text(CPU, baseline, Anchor::Start, "label", &format!("CPU {cpu}")))
            (svg::text(QUEUES, baseline, Anchor::Start, "label", &queues_of(cpu, queues)))
            @for (arm, left) in arms.iter().zip(&lefts) {
                @let found = arm.timeline.cpus.iter().find(|line| line.cpu == cpu);
                (bar(found, (*left, top + (ROW - BAR) / 2.0), step - GAP))
            }
        }
    }
}

/// The queues that interrupt only this CPU, cut to the width of the column.
fn queues_of(cpu: usize, queues: &[&Queue]) -> String {
    let its = queues.iter().filter(|queue| only_cpu(queue) == Some(cpu));
    let list = CpuList::of(its.map(|queue| queue.queue as usize));
    let text = list.map(|list| list.to_string()).unwrap_or_default();
    if text.len() <= LETTERS { text } else { format!("{}…", &text[..LETTERS - 1]) }
}

/// A CPU's time, stacked; empty if the observer did not record this CPU.
fn bar(cpu: Option<&CpuShares>, (left, top): (f64, f64), width: f64) -> Markup {
    let mut at = left;
    let parts = cpu.into_iter().flat_map(means).map(|(class, share)| {
        let part = (class, at, share * width);
        at += part.2;
        part
    });
    html! {
        rect x=(svg::px(left)) y=(svg::px(top)) width=(svg::px(width)) height=(BAR) class="strip" {}
        @for (class, from, wide) in parts.collect::<Vec<_>>() {
            rect x=(svg::px(from)) y=(svg::px(top)) width=(svg::px(wide)) height=(BAR)
                class=(format!("share {class}")) {
                title { (class) " " (format!("{:.1} %", 100.0 * wide / width)) }
            }
        }
    }
}
