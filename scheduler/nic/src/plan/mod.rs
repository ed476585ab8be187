//! What to change for a mode. Pure: a machine, a device's state and the mode in, changes out, in
//! the order in which they are to be written.

mod align;
mod busy_poll;
mod flows;
mod serving;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use steer_topology::{CpuSet, Machine};

use crate::change::Change;
use crate::device::Device;
use crate::setting::{Channels, What};
use crate::state::NicState;

use serving::Serving;

/// What host steering does for a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Nothing.
    Keep,
    /// A queue, with its interrupt and XPS, for each NIC-local core.
    Align,
    /// Packets handed on in software to the CPU that reads them (RFS).
    Rfs,
    /// Packets put by the NIC on the queue of the CPU that reads them (accelerated RFS).
    Arfs,
    /// Interrupts wait while programs poll.
    BusyPoll,
}

/// What the administrator wants otherwise than the machine suggests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The CPUs that serve the NIC, instead of the NIC-local ones.
    pub cpus: Option<CpuSet>,
    /// How many cores of these at most.
    pub cores: Option<usize>,
}

/// Settings that all devices share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    /// Entries of the host's RFS table; `None` where it cannot be seen (network namespaces).
    pub sock_flows: Option<u64>,
    /// Whether irqbalance runs, and what it was asked.
    pub irqbalance: Irqbalance,
}

/// irqbalance, as far as it can be asked.
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
pub struct Plan {
    /// The device.
    pub device: Device,
    /// The mode.
    pub mode: Mode,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// What the mode would like and cannot have, and why.
    pub notes: Vec<String>,
}

/// Why a mode cannot be had for a device.
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

/// Plans.
///
/// # Errors
/// The device cannot do what the mode needs, or something else owns its settings.
pub fn plan(
    machine: &Machine,
    state: &NicState,
    host: &HostState,
    mode: Mode,
    options: &Options,
) -> Result<Plan, Refusal> {
    let refuse = |why: String| Refusal { device: state.device.clone(), mode, why };
    let mut draft = Draft { state, host, changes: Vec::new(), notes: Vec::new() };
    if mode != Mode::Keep {
        let serving = Serving::choose(machine, state, options).map_err(refuse)?;
        draft.align(machine, &serving).map_err(refuse)?;
        match mode {
            Mode::Keep | Mode::Align => draft.no_rps(&serving),
            Mode::Rfs => draft.rfs(machine, &serving).map_err(refuse)?,
            Mode::Arfs => draft.arfs(machine, &serving).map_err(refuse)?,
            Mode::BusyPoll => {
                draft.no_rps(&serving);
                draft.busy_poll(&serving).map_err(refuse)?;
            }
        }
    }
    let Draft { mut changes, notes, .. } = draft;
    sort(&mut changes);
    Ok(Plan { device: state.device.clone(), mode, changes, notes })
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

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Keep => "keep",
            Mode::Align => "align",
            Mode::Rfs => "rfs",
            Mode::Arfs => "arfs",
            Mode::BusyPoll => "busy-poll",
        })
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Mode, String> {
        let modes = [Mode::Keep, Mode::Align, Mode::Rfs, Mode::Arfs, Mode::BusyPoll];
        let known = || modes.map(|mode| mode.to_string()).join(", ");
        let found = modes.into_iter().find(|mode| mode.to_string() == text);
        found.ok_or_else(|| format!("no such mode; there are: {}", known()))
    }
}

#[cfg(test)]
pub(crate) mod tests;
