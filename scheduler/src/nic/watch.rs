//! `scx_steer nic watch`: sets again what a driver resets, and says what somebody else changes.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use log::{info, warn};
use steer_nic::{
    Channels, Device, Error, Held, Kernel, Live, Presence, Setting, Store, absorb, apply, plan,
    restore,
};
use steer_topology::Machine;

use super::args::WatchArgs;
use super::{root, stops};
use crate::signals;

/// How long a signal waits at most.
const NAP: Duration = Duration::from_millis(100);

/// What shows that a driver or the kernel may have set things anew.
#[derive(Clone, Debug, PartialEq)]
struct Marks {
    device: Device,
    carrier_changes: Option<String>,
    flags: Option<String>,
    channels: Option<Channels>,
    cpus: Vec<(u32, u64)>,
}

/// What was seen of a device so far.
struct Seen {
    marks: Marks,
    /// Settings that somebody else changed: said once, and left alone.
    foreign: BTreeSet<Setting>,
}

/// Watches until a signal.
pub(crate) fn run(args: &WatchArgs) -> Result<()> {
    root::needed("nic watch")?;
    let live = Live::open().context("opening a socket to ask drivers")?;
    let store = Store::open(&args.journal.folder)?;
    let shutdown = signals::on_shutdown()?;
    let mut seen: Vec<Seen> = Vec::new();
    let (mut said, every) = (None, Duration::from(args.every));
    while !shutdown.raised() {
        let looked = Instant::now();
        match look(&live, &store, &mut seen) {
            Ok(()) => said = None,
            Err(error) => {
                let complaint = format!("{error:#}");
                if said.as_ref() != Some(&complaint) {
                    warn!("{complaint}");
                    said = Some(complaint);
                }
            }
        }
        while !shutdown.raised() && looked.elapsed() < every {
            thread::sleep(NAP);
        }
    }
    Ok(())
}

/// Looks at every device that has a mode.
fn look(live: &Live, store: &Store, seen: &mut Vec<Seen>) -> Result<()> {
    let _lock = match store.lock() {
        // whoever changes settings now is not to be disturbed
        Err(Error::Busy { .. }) => return Ok(()),
        lock => lock?,
    };
    let Some(journal) = super::journal(store)? else { return Ok(()) };
    for held in &journal.modes {
        match live.presence(&held.device) {
            Presence::Here(name) => follow(live, store, held, &name, seen)?,
            Presence::Gone if live.interfaces().contains(&held.device.name) => {
                info!("{} left and came back: its mode {} is set again", held.device, held.mode);
                // nothing of it is there to be put back: this forgets the settings that it had
                restore(
                    live,
                    store,
                    Some(&held.device),
                    false,
                    &mut stops::from_environment().steps(),
                )?;
                set(live, store, held, &held.device.name, &BTreeSet::new())?;
            }
            Presence::Gone | Presence::Elsewhere => {}
        }
    }
    Ok(())
}

/// Looks at one device.
fn follow(live: &Live, store: &Store, held: &Held, name: &str, seen: &mut Vec<Seen>) -> Result<()> {
    let marks = marks(live, held, name)?;
    let known = seen.iter().position(|it| it.marks.device == held.device);
    let Some(index) = known else {
        seen.push(Seen { marks, foreign: BTreeSet::new() });
        return Ok(());
    };
    let seen = &mut seen[index];
    if seen.marks == marks {
        return say_foreign(live, held, name, &mut seen.foreign);
    }
    let except: Vec<Setting> = seen.foreign.iter().cloned().collect();
    absorb(live, store, &held.device, &except)?;
    let written = set(live, store, held, name, &seen.foreign)?;
    if written > 0 {
        info!("{name}: its link, channels or CPUs changed; {written} settings were set again");
    }
    seen.marks = self::marks(live, held, name)?;
    Ok(())
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
            warn!("{}: somebody else set it to {now}; it is left alone", change.setting);
        }
    }
    Ok(())
}

/// Sets what the mode wants, but for what is somebody else's; gives how many were written.
fn set(
    live: &Live,
    store: &Store,
    held: &Held,
    name: &str,
    foreign: &BTreeSet<Setting>,
) -> Result<usize> {
    let mut changes = changes(live, held, name)?;
    changes.retain(|change| !foreign.contains(&change.setting));
    if changes.is_empty() {
        return Ok(0);
    }
    let device = changes.iter().find_map(|change| change.setting.device.clone());
    let held = Held { device: device.unwrap_or_else(|| held.device.clone()), ..held.clone() };
    let mut hook = stops::from_environment();
    Ok(apply(live, store, &changes, &[held], &mut hook.steps())?.written)
}

fn changes(live: &Live, held: &Held, name: &str) -> Result<Vec<steer_nic::Change>> {
    let machine = Machine::live()?;
    let state = live.state(&machine, name)?;
    Ok(plan(&machine, &state, &live.host()?, held.mode, &held.options)?.changes)
}

fn marks(live: &Live, held: &Held, name: &str) -> Result<Marks> {
    let state = live.state(&Machine::live()?, name)?;
    Ok(Marks {
        device: held.device.clone(),
        carrier_changes: live.attribute(name, "carrier_changes"),
        flags: live.attribute(name, "flags"),
        channels: state.channels.map(|channels| channels.now),
        cpus: live.births().into_iter().collect(),
    })
}
