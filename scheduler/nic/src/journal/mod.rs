//! What was set, with the values from before: written to disk before the first change, so that
//! everything can be put back by whoever finds it.

mod file;
mod lock;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use steer_policy::OnExit;
use steer_topology::CpuSet;

use crate::births::{self, Births};
use crate::device::Device;
use crate::plan::{Mode, Options};
use crate::setting::{Setting, Value, What};

pub use file::{Found, Store};
pub use lock::Lock;

/// The settings that were changed, or may have been.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The boot these settings belong to.
    pub boot: String,
    /// The modes in force.
    pub modes: Vec<Held>,
    /// Every setting that is changed or disturbed.
    pub entries: Vec<Entry>,
    /// Devices whose channels are being changed. Until it is written down what the driver made of
    /// their queues, whatever these are set to counts as ours.
    pub unsettled: Vec<Device>,
    /// For each CPU a number that changes when it has been offline, as they were at first.
    #[serde(default)]
    pub births: BTreeMap<u32, u64>,
}

/// A mode in force for a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The device.
    pub device: Device,
    /// Its mode.
    pub mode: Mode,
    /// What the administrator wanted otherwise.
    pub options: Options,
    /// What its daemon is to do with it at exit; `None` if a command has set it.
    #[serde(default)]
    pub daemon: Option<OnExit>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which.
    pub setting: Setting,
    /// Its value before the first change; `None` if it did not exist.
    pub original: Option<Value>,
    /// The values that we wrote, or that a driver set because of what we wrote.
    pub ours: Vec<Value>,
    /// A value of another program, that a change of channels will disturb: it is to be put back.
    #[serde(default)]
    pub foreign: Option<Value>,
}

/// Whose a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// It is as it was before.
    Original,
    /// It is as we set it.
    Ours,
    /// Neither.
    Foreign,
}

impl Journal {
    /// Without any setting yet.
    pub(crate) fn new(boot: &str, births: Births) -> Journal {
        Journal { boot: boot.to_owned(), births, ..Journal::default() }
    }

    /// What it knows of a setting.
    pub fn entry(&self, setting: &Setting) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.setting == *setting)
    }

    /// Notes the value from before of a setting that is not known yet.
    pub(crate) fn note(&mut self, setting: &Setting, original: Option<Value>) -> &mut Entry {
        let known = self.entries.iter().position(|entry| entry.setting == *setting);
        let index = known.unwrap_or_else(|| {
            let entry =
                Entry { setting: setting.clone(), original, ours: Vec::new(), foreign: None };
            self.entries.push(entry);
            self.entries.len() - 1
        });
        &mut self.entries[index]
    }

    /// Whose the present value of a known setting is.
    pub(crate) fn owner(&self, entry: &Entry, present: &Value, now: &Births) -> Owner {
        let device = entry.setting.device.as_ref();
        let unsettled = device.is_some_and(|device| self.unsettled.contains(device));
        if entry.original.as_ref() == Some(present) {
            Owner::Original
        } else if entry.ours.contains(present)
            || (unsettled && entry.setting.what.of_a_queue() && entry.foreign.is_none())
            || self.broke(entry, present, now)
        {
            Owner::Ours
        } else {
            Owner::Foreign
        }
    }

    /// Whether an interrupt or a thread is where it is since all its CPUs were offline.
    fn broke(&self, entry: &Entry, present: &Value, now: &Births) -> bool {
        let broke: fn(&CpuSet, &CpuSet, &Births, &Births) -> bool = match entry.setting.what {
            What::IrqAffinity(_) => births::broke,
            What::NapiThread(_) => births::freed,
            _ => return false,
        };
        let known = entry.ours.iter().chain(&entry.original);
        known.into_iter().any(|known| match (known, present) {
            (Value::Cpus(cpus), Value::Cpus(present)) => broke(cpus, present, &self.births, now),
            _ => false,
        })
    }
}

impl Entry {
    /// Notes a value that is our doing.
    pub(crate) fn add_ours(&mut self, value: Value) {
        if self.original.as_ref() != Some(&value) && !self.ours.contains(&value) {
            self.ours.push(value);
        }
    }
}
