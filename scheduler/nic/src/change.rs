//! One planned change: what, from, to, why; and the shell lines that do and undo it by hand.

use serde::Serialize;

use crate::ethtool::rss::{blocks, even};
use crate::order;
use crate::queues::Queues;
use crate::rule::Match;
use crate::setting::{Channels, Setting, Value, What};
use crate::state::{NapiState, NicState};

/// A change that a plan proposes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What is set.
    pub setting: Setting,
    /// Its value when it was read; `None` if a change before this one creates it.
    pub old: Option<Value>,
    /// The value to set.
    pub new: Value,
    /// Why.
    pub why: String,
    /// The change as a shell line.
    pub shell: String,
    /// The way back as a shell line; `None` if the change before this one takes it back as well.
    pub undo: Option<String>,
}

impl Change {
    /// A change of a device's setting, or of the host's.
    pub(crate) fn new(
        state: &NicState,
        what: What,
        old: Option<Value>,
        new: Value,
        why: impl Into<String>,
    ) -> Change {
        let device = (what != What::SockFlows).then(|| state.device.clone());
        Change {
            setting: Setting { device, what },
            shell: shell(state, what, &new),
            undo: old.as_ref().map(|old| shell(state, what, old)),
            old,
            new,
            why: why.into(),
        }
    }
}

/// The shell lines that undo changes, in their order.
pub fn undo(changes: &[Change]) -> Vec<&str> {
    let mut ways: Vec<&Change> = changes.iter().collect();
    order::back(&mut ways, |way| (&way.setting, Some(&way.new), way.old.as_ref()));
    ways.into_iter().filter_map(|change| change.undo.as_deref()).collect()
}

/// The shell line that sets `what` to `value`. A line that begins with # says what no tool can do.
fn shell(state: &NicState, what: What, value: &Value) -> String {
    let name = &state.device.name;
    let queues = format!("/sys/class/net/{name}/queues");
    let echo = |path: String| format!("echo {} > {path}", crate::files::written(value));
    let irq = |queue| state.irqs.iter().find(|irq| irq.queue == Some(queue)).map(|irq| irq.number);
    match (what, value) {
        (What::Channels, Value::Channels(channels)) => set_channels(name, *channels),
        (What::RssTable, Value::Table(table)) => set_table(name, table),
        (What::Ntuple, _) => format!("ethtool -K {name} ntuple {value}"),
        (What::RssContext(queues), Value::Switch(true)) => {
            format!("ethtool -X {name} context new {}", weights(queues))
        }
        (What::RssContext(queues), _) => format!(
            "# ethtool -x {name} context N shows which has the queues {queues}: ethtool -X {name} \
             context N delete"
        ),
        (What::Rule(packets), Value::Queues(queues)) => rule(name, packets, *queues),
        (What::IrqbalanceBan(queue), Value::Switch(on)) => {
            let irq = irq(queue).map_or("of a queue to come".into(), |irq| irq.to_string());
            let leave = if *on { "leave IRQ" } else { "take back IRQ" };
            format!("# tell irqbalance over its socket to {leave} {irq}")
        }
        (What::IrqAffinity(queue), Value::Cpus(cpus)) => match irq(queue) {
            Some(irq) => format!("echo {cpus} > /proc/irq/{irq}/smp_affinity_list"),
            None => format!(
                "# once {} is in use: echo {cpus} > /proc/irq/ITS-IRQ/smp_affinity_list",
                crate::setting::name(&queue)
            ),
        },
        (What::Xps(queue), _) => echo(format!("{queues}/tx-{queue}/xps_cpus")),
        (What::Rps(queue), _) => echo(format!("{queues}/rx-{queue}/rps_cpus")),
        (What::RpsFlows(queue), _) => echo(format!("{queues}/rx-{queue}/rps_flow_cnt")),
        (What::SockFlows, _) => format!("sysctl -w net.core.rps_sock_flow_entries={value}"),
        (What::DeviceDefer, _) => echo(format!("/sys/class/net/{name}/napi_defer_hard_irqs")),
        (What::DeviceFlush, _) => echo(format!("/sys/class/net/{name}/gro_flush_timeout")),
        (What::NapiDefer(queue), _) => set_napi(state, queue, "defer-hard-irqs", value),
        (What::NapiFlush(queue), _) => set_napi(state, queue, "gro-flush-timeout", value),
        (What::NapiSuspend(queue), _) => set_napi(state, queue, "irq-suspend-timeout", value),
        (What::NapiThread(queue), Value::Cpus(cpus)) => {
            match napi_of(state, queue).and_then(|it| it.thread) {
                Some(thread) => format!("taskset -cp {cpus} {thread}"),
                None => format!("# once rx-{queue} has a NAPI thread: taskset -cp {cpus} THREAD"),
            }
        }
        (what, value) => format!("# {what}: {value}"),
    }
}

fn set_channels(name: &str, Channels { rx, tx, combined, .. }: Channels) -> String {
    let kinds = [("rx", rx), ("tx", tx), ("combined", combined)];
    let used = kinds.iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = used.map(|(kind, count)| format!("{kind} {count}")).collect();
    format!("ethtool -L {name} {}", words.join(" "))
}

fn set_table(name: &str, table: &[u32]) -> String {
    let queues = table.iter().max().map_or(1, |last| last + 1);
    let used: Queues = table.iter().copied().collect();
    if even(table.len(), queues) == table {
        format!("ethtool -X {name} equal {queues}")
    } else if blocks(table.len(), used) == table {
        format!("ethtool -X {name} {}", weights(used))
    } else {
        format!("# no tool writes the RSS table that {name} had: scx_steer nic restore")
    }
}

/// Equal weights for some queues and none for others, as ethtool takes them.
fn weights(queues: Queues) -> String {
    let last = queues.iter().last().unwrap_or_default();
    let weight = |queue| u32::from(queues.iter().any(|it| it == queue)).to_string();
    format!("weight {}", (0..=last).map(weight).collect::<Vec<_>>().join(" "))
}

fn rule(name: &str, packets: Match, queues: Queues) -> String {
    let rule = format!(
        "ethtool -N {name} flow-type {} dst-port {}",
        packets.flow_type(),
        packets.port.number
    );
    match queues.len() {
        0 => {
            format!("# ethtool -n {name} shows the rule for {packets}: ethtool -N {name} delete ID")
        }
        1 => format!("{rule} queue {queues}"),
        _ => format!("{rule} context N  # the one of the queues {queues}"),
    }
}

fn napi_of(state: &NicState, queue: u32) -> Option<&NapiState> {
    state.rx.iter().find(|rx| rx.index == queue)?.napi.as_ref()
}

fn set_napi(state: &NicState, queue: u32, attribute: &str, value: &Value) -> String {
    match napi_of(state, queue) {
        Some(napi) => format!(
            "ynl --family netdev --do napi-set --json '{{\"id\": {}, \"{attribute}\": {value}}}'",
            napi.id
        ),
        None => format!("# once rx-{queue} is in use: napi-set {attribute} {value}"),
    }
}
