//! Writes the changes of a plan: all of them, or none.

use std::collections::BTreeMap;

use super::{Steps, Way, put, put_back};
use crate::births::Births;
use crate::change::Change;
use crate::device::Device;
use crate::error::{Error, Fault};
use crate::journal::{Found, Held, Journal, Owner, Store};
use crate::kernel::Kernel;
use crate::setting::{Setting, Value, What};

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// How many settings were written.
    pub written: usize,
    /// A journal of an earlier boot was found and discarded.
    pub discarded: bool,
}

/// Values before the first write, by setting.
type Before = BTreeMap<Setting, Option<Value>>;

/// Journals the values from before, writes the changes in their order and reads each back. The
/// caller holds the [lock](Store::lock).
///
/// # Errors
/// A setting cannot be written, belongs to another program or was changed since the plan: nothing is
/// changed then, or what was is put back.
pub fn apply(
    kernel: &dyn Kernel,
    store: &Store,
    changes: &[Change],
    held: &[Held],
    steps: &mut Steps<'_>,
) -> Result<Applied, Error> {
    let mut applied = Applied::default();
    let known = match store.load()? {
        Found::Nothing => Journal::new(store.boot(), kernel.births()),
        Found::Journal(journal) => journal,
        Found::OldBoot(_) => {
            applied.discarded = true;
            Journal::new(store.boot(), kernel.births())
        }
    };
    if !known.unsettled.is_empty() {
        return Err(Error::Interrupted);
    }
    let births = kernel.births();
    check(kernel, &known, changes, &births)?;
    let before = before(kernel, changes)?;
    let mut journal = known.clone();
    journal.modes.retain(|it| !held.iter().any(|new| new.device == it.device));
    journal.modes.extend(held.iter().cloned());
    for (setting, value) in &before {
        let foreign = value.as_ref().filter(|value| {
            known
                .entry(setting)
                .is_some_and(|entry| known.owner(entry, value, &births) == Owner::Foreign)
        });
        let entry = journal.note(setting, value.clone());
        entry.foreign = foreign.cloned().or(entry.foreign.take().filter(|_| value.is_none()));
    }
    for change in changes {
        journal.note(&change.setting, change.old.clone()).add_ours(change.new.clone());
    }
    steps.next_save()?;
    store.save(&journal)?;
    match write(kernel, store, &mut journal, &before, changes, steps) {
        Ok(written) => Ok(Applied { written, ..applied }),
        Err(Error::Fault(fault)) => {
            Err(roll_back(kernel, store, journal, &known, before, fault, steps))
        }
        Err(other) => Err(other),
    }
}

/// Finds out whether all changes can be made, without making any.
fn check(
    kernel: &dyn Kernel,
    known: &Journal,
    changes: &[Change],
    births: &Births,
) -> Result<(), Error> {
    for Change { setting, old, .. } in changes {
        let present = kernel.get(setting)?;
        let entry = known.entry(setting);
        // Another program's value of a queue that is not in use counts as if it were in force.
        let noted = entry.and_then(|entry| entry.foreign.clone());
        match (entry, present.as_ref().or(noted.as_ref())) {
            (Some(entry), Some(value)) if known.owner(entry, value, births) == Owner::Foreign => {
                let (setting, now) = (setting.clone(), value.to_string());
                return Err(Error::Foreign { setting, now });
            }
            (None, _) if present != *old => return Err(Error::Raced { setting: setting.clone() }),
            _ => kernel.check(setting)?,
        }
    }
    Ok(())
}

/// The present values of all that will be changed, or disturbed by a change of channels.
fn before(kernel: &dyn Kernel, changes: &[Change]) -> Result<Before, Fault> {
    let mut settings: Vec<Setting> = changes.iter().map(|change| change.setting.clone()).collect();
    for device in changes.iter().filter_map(of_channels) {
        settings.extend(kernel.of_queues(device)?);
    }
    settings.into_iter().map(|setting| Ok((setting.clone(), kernel.get(&setting)?))).collect()
}

/// The device whose channels a change concerns.
fn of_channels(change: &Change) -> Option<&Device> {
    change.setting.device.as_ref().filter(|_| change.setting.what == What::Channels)
}

fn write(
    kernel: &dyn Kernel,
    store: &Store,
    journal: &mut Journal,
    before: &Before,
    changes: &[Change],
    steps: &mut Steps<'_>,
) -> Result<usize, Error> {
    let mut written = 0;
    for change in changes {
        let device = of_channels(change);
        if let Some(device) = device {
            journal.unsettled.push(device.clone());
            steps.next_save()?;
            store.save(journal)?;
        }
        if kernel.get(&change.setting)?.as_ref() != Some(&change.new) {
            put(kernel, &change.setting, &change.new, steps)?;
            written += 1;
        }
        if let Some(device) = device {
            for setting in kernel.of_queues(device)? {
                let was = before.get(&setting).and_then(Option::as_ref);
                // What the driver left alone may be another program's.
                if let Some(made) = kernel.get(&setting)?.filter(|made| Some(made) != was) {
                    journal.note(&setting, None).add_ours(made);
                }
            }
            let planned = |setting: &Setting| changes.iter().any(|it| it.setting == *setting);
            keep_others(kernel, journal, before, device, planned, steps)?;
            settle(kernel, journal, device)?;
            steps.next_save()?;
            store.save(journal)?;
        }
    }
    Ok(written)
}

/// From here on it is known what the driver made of its queues. Another program's value of a queue
/// that left stays noted: it goes back when the queue comes back.
fn settle(kernel: &dyn Kernel, journal: &mut Journal, device: &Device) -> Result<(), Fault> {
    journal.unsettled.retain(|it| it != device);
    for entry in journal.entries.iter_mut().filter(|it| it.setting.device.as_ref() == Some(device))
    {
        if entry.foreign.is_some() && kernel.get(&entry.setting)?.is_some() {
            entry.foreign = None;
        }
    }
    Ok(())
}

/// Puts back what the driver changed along with its channels and the plan says nothing of, and
/// another program's values of queues that are in use again.
fn keep_others(
    kernel: &dyn Kernel,
    journal: &Journal,
    before: &Before,
    device: &Device,
    planned: impl Fn(&Setting) -> bool,
    steps: &mut Steps<'_>,
) -> Result<(), Error> {
    let noted = journal.entries.iter().map(|entry| (&entry.setting, entry.foreign.as_ref()));
    let was = before.iter().map(|(setting, value)| (setting, value.as_ref()));
    let concerned = |setting: &Setting| {
        setting.device.as_ref() == Some(device) && setting.what.of_a_queue() && !planned(setting)
    };
    for (setting, value) in was.chain(noted).filter(|(setting, _)| concerned(setting)) {
        if let (Some(value), Some(present)) = (value, kernel.get(setting)?)
            && *value != present
        {
            put(kernel, setting, value, steps)?;
        }
    }
    Ok(())
}

/// Puts back what was written; the error to give. What does not go back stays in the journal.
fn roll_back(
    kernel: &dyn Kernel,
    store: &Store,
    mut journal: Journal,
    known: &Journal,
    before: Before,
    fault: Fault,
    steps: &mut Steps<'_>,
) -> Error {
    // What has its value already is named as well: channels that go back may disturb it.
    let way = |(setting, value): (Setting, Option<Value>)| {
        let from = kernel.get(&setting).ok().flatten();
        let stays = setting.what == What::Channels && from == value;
        Some(Way { setting, from, to: value? }).filter(|_| !stays)
    };
    let ways: Vec<Way> = before.into_iter().filter_map(way).collect();
    let failures = match put_back(kernel, store, &mut journal, ways, steps) {
        Ok(failures) => failures,
        Err(stopped) => return stopped,
    };
    if failures.is_empty() {
        if let Err(stopped) = steps.next_save() {
            return stopped;
        }
        let known = if known.entries.is_empty() { store.remove() } else { store.save(known) };
        return match known {
            Ok(()) => Error::RolledBack { fault },
            Err(error) => error,
        };
    }
    let left = failures.into_iter().map(|(_, failure)| failure).collect();
    Error::RollbackFailed { fault, left }
}
