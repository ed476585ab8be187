//! Puts everything back that the journal knows, as far as it is still ours.

use super::{Steps, Way, put_back};
use crate::births::Births;
use crate::device::{Device, Presence};
use crate::error::{Error, Fault};
use crate::ethtool::rss::even;
use crate::journal::{Entry, Found, Journal, Owner, Store};
use crate::kernel::Kernel;
use crate::order::receive;
use crate::setting::{Setting, Value, What};

/// What is to become of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as it was.
    Same,
    /// It goes back.
    Back,
    /// It has this value, which is neither ours nor the one from before: it stays.
    Foreign(Value),
    /// Its queue is not in use; it goes back only if that comes to be in use by what else goes back.
    Absent,
    /// Its device left, and the setting with it.
    Gone,
    /// Its device is in another network namespace.
    Elsewhere,
}

/// What was done, or would be.
#[derive(Clone, Debug, Default)]
pub struct Restored {
    /// Every setting with what becomes of it.
    pub settings: Vec<(Entry, Verdict)>,
    /// What did not go back, and why.
    pub failures: Vec<(Setting, String)>,
    /// Settings of an earlier boot, which are gone with that.
    pub discarded: usize,
}

/// Puts settings back. With `only`, those of one device; with `dry`, none: it only tells. The
/// caller holds the [lock](Store::lock), unless `dry`.
///
/// # Errors
/// The journal or the present settings cannot be read. What does not go back is told in the result.
pub fn restore(
    kernel: &dyn Kernel,
    store: &Store,
    only: Option<&Device>,
    dry: bool,
    steps: &mut Steps<'_>,
) -> Result<Restored, Error> {
    let mut journal = match store.load()? {
        Found::Nothing => return Ok(Restored::default()),
        Found::Journal(journal) => journal,
        Found::OldBoot(old) => {
            if !dry {
                store.remove()?;
            }
            return Ok(Restored { discarded: old.entries.len(), ..Restored::default() });
        }
    };
    let concerned = |entry: &Entry| only.is_none() || entry.setting.device.as_ref() == only;
    let (mut restored, births) = (Restored::default(), kernel.births());
    for entry in journal.entries.iter().filter(|entry| concerned(entry)) {
        let verdict = judge(kernel, &journal, entry, &births)?;
        restored.settings.push((entry.clone(), verdict));
    }
    take_back_even_tables(kernel, &mut restored.settings)?;
    if dry {
        return Ok(restored);
    }
    let ways = ways(kernel, &mut journal, &restored.settings)?;
    restored.failures = put_back(kernel, store, &mut journal, ways, steps)?;
    forget(&mut journal, &restored, concerned);
    journal.modes.retain(|held| only.is_some_and(|device| held.device != *device));
    steps.next_save()?;
    if journal.entries.is_empty() {
        store.remove()?
    } else {
        store.save(&journal)?
    }
    Ok(restored)
}

fn judge(
    kernel: &dyn Kernel,
    journal: &Journal,
    entry: &Entry,
    births: &Births,
) -> Result<Verdict, Fault> {
    match entry.setting.device.as_ref().map(|device| kernel.presence(device)) {
        Some(Presence::Gone) => return Ok(Verdict::Gone),
        Some(Presence::Elsewhere) => return Ok(Verdict::Elsewhere),
        Some(Presence::Here(_)) | None => {}
    }
    let disturbed = entry.setting.device.as_ref().is_some_and(|it| journal.unsettled.contains(it));
    if let (true, Some(foreign)) = (disturbed, &entry.foreign) {
        return Ok(Verdict::Foreign(foreign.clone()));
    }
    Ok(match kernel.get(&entry.setting)? {
        None => entry.foreign.clone().map_or(Verdict::Absent, Verdict::Foreign),
        Some(value) => match journal.owner(entry, &value, births) {
            Owner::Original => Verdict::Same,
            Owner::Ours => Verdict::Back,
            Owner::Foreign => Verdict::Foreign(value),
        },
    })
}

/// A table that spreads evenly over queues of which some will leave is the driver's doing, not
/// another program's choice, and the kernel would not take it afterwards: it goes back.
fn take_back_even_tables(
    kernel: &dyn Kernel,
    settings: &mut [(Entry, Verdict)],
) -> Result<(), Fault> {
    let mut shrinking = Vec::new();
    for (Entry { setting, original, .. }, verdict) in settings.iter() {
        if setting.what == What::Channels && *verdict == Verdict::Back {
            let (from, to) = (receive(kernel.get(setting)?.as_ref()), receive(original.as_ref()));
            shrinking.extend(Some((setting.device.clone(), from)).filter(|_| from > to));
        }
    }
    for (Entry { setting, .. }, verdict) in settings {
        if let Verdict::Foreign(Value::Table(table)) = verdict
            && let Some((_, queues)) = shrinking.iter().find(|it| it.0 == setting.device)
            && *table == even(table.len(), *queues)
        {
            *verdict = Verdict::Back;
        }
    }
    Ok(())
}

/// Where settings go. If channels change, also those are named that stay as they are, since the
/// driver may set them anew; a foreign value among them goes to the journal first.
fn ways(
    kernel: &dyn Kernel,
    journal: &mut Journal,
    settings: &[(Entry, Verdict)],
) -> Result<Vec<Way>, Fault> {
    let disturbed: Vec<&Device> = settings
        .iter()
        .filter(|(entry, verdict)| {
            entry.setting.what == What::Channels && *verdict == Verdict::Back
        })
        .filter_map(|(entry, _)| entry.setting.device.as_ref())
        .collect();
    let mut ways = Vec::new();
    for (entry, verdict) in settings {
        let setting = &entry.setting;
        let disturbed = setting.what.of_a_queue()
            && setting
                .device
                .as_ref()
                .is_some_and(|it| disturbed.contains(&it) || journal.unsettled.contains(it));
        // A queue in use with the original value or ours: what another program once set of it is gone.
        if matches!(verdict, Verdict::Back | Verdict::Same) {
            journal.note(setting, None).foreign = None;
        }
        let to = match verdict {
            Verdict::Back => entry.original.clone(),
            Verdict::Same | Verdict::Absent if disturbed => entry.original.clone(),
            Verdict::Foreign(value) if disturbed => {
                journal.note(setting, None).foreign = Some(value.clone());
                Some(value.clone())
            }
            _ => None,
        };
        let from = kernel.get(setting)?;
        ways.extend(to.map(|to| Way { setting: setting.clone(), from, to }));
    }
    Ok(ways)
}

/// Drops from the journal what is done with.
fn forget(journal: &mut Journal, restored: &Restored, concerned: impl Fn(&Entry) -> bool) {
    let failed = |entry: &Entry| restored.failures.iter().any(|(it, _)| *it == entry.setting);
    let elsewhere = |entry: &Entry| {
        let verdicts = restored.settings.iter();
        verdicts
            .into_iter()
            .any(|(it, verdict)| it.setting == entry.setting && *verdict == Verdict::Elsewhere)
    };
    // Channels that have yet to go back will disturb everything of their queues.
    let stuck: Vec<&Device> = restored
        .failures
        .iter()
        .filter(|(setting, _)| setting.what == What::Channels)
        .filter_map(|(setting, _)| setting.device.as_ref())
        .collect();
    let to_be_disturbed = |entry: &Entry| {
        let device = entry.setting.device.as_ref();
        entry.setting.what.of_a_queue() && device.is_some_and(|device| stuck.contains(&device))
    };
    journal.entries.retain(|entry| {
        !concerned(entry) || failed(entry) || elsewhere(entry) || to_be_disturbed(entry)
    });
    let left: Vec<&Device> =
        journal.entries.iter().filter_map(|entry| entry.setting.device.as_ref()).collect();
    journal.unsettled.retain(|device| left.contains(&device));
}
