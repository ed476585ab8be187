//! What to change for a mode. Pure: a machine, a device's state and the mode in, changes out, in
//! the order in which they are to be written.

mod align;
mod busy_poll;
mod flows;
mod rules;
mod serving;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
pub use steer_policy::NicMode as Mode;
use steer_policy::PortPool;
use steer_topology::{CpuSet, Machine};

use crate::change::Change;
use crate::device::Device;
use crate::setting::{Channels, What};
use crate::state::NicState;

use serving::Serving;

/// What the administrator asks for instead of what the machine suggests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The CPUs that serve the NIC, instead of the NIC-local ones.
    pub cpus: Option<CpuSet>,
    /// How many cores of these at most.
    pub cores: Option<usize>,
    /// How many of the cores take interrupts now, if not all of them do: the load is low. The
    /// channels are those for all of them, as a change of channels disturbs traffic.
    #[serde(default)]
    pub active: Option<usize>,
    /// Where packets to some ports belong, in the mode `rules`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortPool>,
}

impl Options {
    /// The CPUs that serve a NIC as a whole; `None` if it is unknown which are near it.
    fn near<'a>(&'a self, state: &'a NicState) -> Option<&'a CpuSet> {
        self.cpus.as_ref().or(state.local_cpus.as_ref())
    }
}

/// Settings that all devices share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    /// Entries of the host's RFS table; `None` where it cannot be seen (network namespaces).
    pub sock_flows: Option<u64>,
    /// Whether irqbalance runs, and what it was asked.
    pub irqbalance: Irqbalance,
}

/// What irqbalance answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Irqbalance {
    /// It does not run.
    #[default]
    Absent,
    /// It leaves these interrupts alone on request.
    Banned(BTreeSet<u32>),
    /// It runs and does not answer.
    Deaf,
}

/// What to change for one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NicPlan {
    /// The device.
    pub device: Device,
    /// The mode.
    pub mode: Mode,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// What the mode asks for and this device cannot do, with the reason.
    pub notes: Vec<String>,
}

/// Why a device cannot have a mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{device} cannot have the mode {mode}: {why}")]
pub struct Refusal {
    /// The device.
    pub device: Device,
    /// The mode.
    pub mode: Mode,
    /// The reason.
    pub why: String,
}

/// Plans the changes that put a device into a mode.
///
/// # Errors
/// The device cannot do what the mode needs, or something else owns its settings.
pub fn plan(
    machine: &Machine,
    state: &NicState,
    host: &HostState,
    mode: Mode,
    options: &Options,
) -> Result<NicPlan, Refusal> {
    let refuse = |why: String| Refusal { device: state.device.clone(), mode, why };
    if mode == Mode::Auto {
        return Err(refuse(
            "it needs the scheduler's measurements: name it in host.toml, or start scx_steer with \
             --nic-mode"
                .into(),
        ));
    }
    if let Some(why) = nothing_of_its_own(state, mode) {
        return Err(refuse(why));
    }
    let mut draft = Draft { state, host, changes: Vec::new(), notes: Vec::new() };
    if mode != Mode::Keep {
        let (served, notes) = match mode {
            Mode::Rules => rules::served(machine, state, options).map_err(refuse)?,
            _ => rules::Wanted::default(),
        };
        draft.notes.extend(notes);
        let pools: Vec<CpuSet> = served.iter().map(|it| it.cpus.clone()).collect();
        let mut serving = Serving::choose(machine, state, options, &pools).map_err(refuse)?;
        serving.hashed = rules::hashed(&serving, &served).map_err(refuse)?;
        draft.align(machine, &serving).map_err(refuse)?;
        match mode {
            Mode::Keep | Mode::Align | Mode::Auto => draft.no_rps(&serving),
            Mode::Rfs => draft.rfs(machine, &serving).map_err(refuse)?,
            Mode::Arfs => draft.arfs(machine, &serving).map_err(refuse)?,
            Mode::Rules => {
                draft.no_rps(&serving);
                draft.rules(&serving, &served).map_err(refuse)?;
            }
            Mode::BusyPoll => {
                draft.no_rps(&serving);
                draft.busy_poll(&serving).map_err(refuse)?;
            }
        }
    }
    let Draft { mut changes, notes, .. } = draft;
    sort(&mut changes);
    Ok(NicPlan { device: state.device.clone(), mode, changes, notes })
}

/// The reason, if the device has nothing that a mode could set.
fn nothing_of_its_own(state: &NicState, mode: Mode) -> Option<String> {
    if mode != Mode::Keep && !state.below.is_empty() {
        let below = state.below.join(", ");
        return Some(format!(
            "its packets arrive at the devices below it; name these instead: {below}"
        ));
    }
    let kind = state.kind.as_deref().unwrap_or_default();
    if mode != Mode::Keep && ["bond", "bridge"].contains(&kind) {
        return Some(format!(
            "packets arrive at the devices below a {kind}, and there is none below this one"
        ));
    }
    let alone = state.channels.is_none() && state.rx.len() < 2 && state.tx.len() < 2;
    (mode == Mode::Align && alone && state.irqs.iter().all(|irq| irq.queue.is_none())).then(|| {
        "it has one queue, no channels to set, and no interrupts of its own: there is nothing to \
         align"
            .into()
    })
}

/// A plan in the making.
struct Draft<'a> {
    state: &'a NicState,
    host: &'a HostState,
    changes: Vec<Change>,
    notes: Vec<String>,
}

impl Draft<'_> {
    /// Whether the plan changes the number of channels: then every setting of a queue is written,
    /// as the driver may set these anew.
    fn changes_channels(&self) -> bool {
        self.changes.iter().any(|change| change.setting.what == What::Channels)
    }
}

/// Puts changes in order. A table that names queues which go away has to change before these go.
fn sort(changes: &mut [Change]) {
    changes.sort_by_key(|change| change.setting.what);
    let shrinks = |change: &Change| {
        let counts = |value: &crate::Value| match value {
            crate::Value::Channels(channels) => channels.receive(),
            _ => 0,
        };
        change.setting.what == What::Channels
            && change.old.as_ref().is_some_and(|old| counts(old) > counts(&change.new))
    };
    if let [first, second, ..] = changes
        && shrinks(first)
        && second.setting.what == What::RssTable
    {
        changes.swap(0, 1);
    }
}

/// Channels with `pairs` queues each way, of the kinds that a device has.
fn channels_of(max: Channels, now: Channels, pairs: u32) -> Channels {
    match max.combined {
        0 => Channels { rx: pairs.min(max.rx), tx: pairs.min(max.tx), ..now },
        _ => Channels { rx: 0, tx: 0, combined: pairs, ..now },
    }
}

#[cfg(test)]
mod rules_tests;
#[cfg(test)]
pub(crate) mod tests;
