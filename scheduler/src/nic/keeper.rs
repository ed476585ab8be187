//! Keeps modes in force: repeats settings that a driver resets, and reports changes by other
//! programs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::Result;
use log::{info, warn};
use steer_nic::{
    Change, Channels, Device, Held, Kernel, Live, Mode, Presence, Setting, Store, What, absorb,
    apply, plan, restore,
};
use steer_topology::Machine;

use super::stops;

/// How often all settings are compared with the mode's, though nothing has happened to the device.
const COMPARE: Duration = Duration::from_secs(5);

/// Signs that a driver or the kernel may have reset something.
#[derive(Clone, Debug, PartialEq)]
struct Marks {
    carrier_changes: Option<String>,
    flags: Option<String>,
    channels: Option<Channels>,
    cpus: Vec<(u32, u64)>,
}

/// What was seen of a device so far.
struct Seen {
    marks: Marks,
    /// When its settings were last compared.
    compared: Option<Instant>,
    /// Settings that another program changed: reported once, and left alone.
    foreign: BTreeSet<Setting>,
}

/// Keeps modes in force. The caller holds the lock.
#[derive(Default)]
pub(super) struct Keeper {
    seen: BTreeMap<Device, Seen>,
}

impl Keeper {
    /// Looks at a device that has a mode.
    pub(super) fn look(&mut self, live: &Live, store: &Store, held: &Held) -> Result<()> {
        match live.presence(&held.device) {
            Presence::Here(name) => self.follow(live, store, held, &name),
            Presence::Gone if live.interfaces().contains(&held.device.name) => {
                info!("{} left and came back: its mode {} is set again", held.device, held.mode);
                // nothing of it is there to be put back: this forgets the settings that it had
                let mut hook = stops::from_environment();
                restore(live, store, Some(&held.device), false, &mut hook.steps())?;
                self.seen.remove(&held.device);
                set(live, store, held, &held.device.name, &BTreeSet::new()).map(drop)
            }
            Presence::Gone | Presence::Elsewhere => Ok(()),
        }
    }

    /// Forgets what was seen of a device: its mode was set anew.
    pub(super) fn forget(&mut self, device: &Device) {
        self.seen.remove(device);
    }

    /// Settings of a device that another program has changed since the mode was set.
    pub(super) fn foreign(&self, device: &Device) -> Vec<String> {
        let foreign = self.seen.get(device).into_iter().flat_map(|seen| &seen.foreign);
        foreign.map(ToString::to_string).collect()
    }

    fn follow(&mut self, live: &Live, store: &Store, held: &Held, name: &str) -> Result<()> {
        let now = marks(live, name)?;
        let Some(seen) = self.seen.get_mut(&held.device) else {
            let seen = Seen { marks: now, compared: None, foreign: BTreeSet::new() };
            self.seen.insert(held.device.clone(), seen);
            return Ok(());
        };
        if seen.marks == now {
            if seen.compared.is_none_or(|then| then.elapsed() >= COMPARE) {
                say_foreign(live, held, name, &mut seen.foreign)?;
                seen.compared = Some(Instant::now());
            }
            return Ok(());
        }
        let except: Vec<Setting> = seen.foreign.iter().cloned().collect();
        absorb(live, store, &held.device, &except)?;
        let written = set(live, store, held, name, &seen.foreign)?;
        if written > 0 {
            info!("{name}: its link, channels or CPUs changed; {written} settings were set again");
        }
        seen.marks = marks(live, name)?;
        Ok(())
    }
}

/// Names settings that are no longer as the mode has them though nothing happened to the device.
fn say_foreign(
    live: &Live,
    held: &Held,
    name: &str,
    foreign: &mut BTreeSet<Setting>,
) -> Result<()> {
    for change in changes(live, held, name)? {
        // written along with channels, but as it should be
        if change.old.as_ref() == Some(&change.new) {
            continue;
        }
        if foreign.insert(change.setting.clone()) {
            let now = change.old.map_or("nothing".into(), |old| old.to_string());
            warn!("{}: another program set it to {now}; it is left alone", change.setting);
        }
    }
    Ok(())
}

/// Sets what the mode asks for, except settings that another program has changed. Returns how many
/// were written.
fn set(
    live: &Live,
    store: &Store,
    held: &Held,
    name: &str,
    foreign: &BTreeSet<Setting>,
) -> Result<usize> {
    let mut hook = stops::from_environment();
    let mut changes = changes(live, held, name)?;
    let channels = |change: &Change| change.setting.what == What::Channels;
    if held.mode == Mode::Rules && changes.iter().any(channels) {
        // the kernel takes no queue away that a rule or an RSS context names: begin anew
        restore(live, store, Some(&held.device), false, &mut hook.steps())?;
        changes = self::changes(live, held, name)?;
    }
    changes.retain(|change| !foreign.contains(&change.setting));
    if changes.is_empty() {
        return Ok(0);
    }
    let device = changes.iter().find_map(|change| change.setting.device.clone());
    let held = Held { device: device.unwrap_or_else(|| held.device.clone()), ..held.clone() };
    Ok(apply(live, store, &changes, &[held], &mut hook.steps())?.written)
}

fn changes(live: &Live, held: &Held, name: &str) -> Result<Vec<Change>> {
    let machine = Machine::live()?;
    let state = live.state(&machine, name)?;
    Ok(plan(&machine, &state, &live.host()?, held.mode, &held.options)?.changes)
}

fn marks(live: &Live, name: &str) -> Result<Marks> {
    Ok(Marks {
        carrier_changes: live.attribute(name, "carrier_changes"),
        flags: live.attribute(name, "flags"),
        channels: live.channels(name)?,
        cpus: live.births().into_iter().collect(),
    })
}
