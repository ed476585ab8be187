//! `scx_steer nic apply`.

use anyhow::{Context, Result, bail};
use steer_nic::{Change, Held, Live, Mode, Plan, Store, apply, restore};

use super::args::ApplyArgs;
use super::{plan, root, stops};

/// Plans, journals, writes and reads back.
pub(crate) fn run(args: &ApplyArgs) -> Result<()> {
    root::needed("nic apply")?;
    let live = Live::open().context("opening a socket to ask drivers")?;
    let store = Store::open(&args.journal.folder)?;
    let _lock = store.lock()?;
    put_back_others(&live, &store, args)?;
    let mut plans = Vec::new();
    for planned in plan::plans(&live, &args.wanted)? {
        plans.push(planned?);
    }
    let changes: Vec<Change> = together(&plans);
    let held: Vec<Held> = plans.iter().map(|plan| held(plan, args)).collect();
    plans.iter().flat_map(|plan| &plan.notes).for_each(|note| println!("note: {note}"));
    if changes.is_empty() {
        println!("nothing to change");
        return Ok(());
    }
    let mut hook = stops::from_environment();
    let applied = apply(&live, &store, &changes, &held, &mut hook.steps())?;
    println!("{} settings written; scx_steer nic restore puts them back", applied.written);
    Ok(())
}

/// The changes of all plans, each setting once: those of the host are in every plan.
fn together(plans: &[Plan]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for change in plans.iter().flat_map(|plan| &plan.changes) {
        if !changes.iter().any(|it| it.setting == change.setting) {
            changes.push(change.clone());
        }
    }
    changes
}

fn held(plan: &Plan, args: &ApplyArgs) -> Held {
    Held { device: plan.device.clone(), mode: plan.mode, options: args.wanted.options() }
}

/// Puts back what another mode had set, and what was cut off half-way: a plan begins with what the
/// host had before.
fn put_back_others(live: &Live, store: &Store, args: &ApplyArgs) -> Result<()> {
    let Some(journal) = super::journal(store)? else { return Ok(()) };
    let names = &args.wanted.interfaces;
    let wanted = |held: &&Held| names.is_empty() || names.contains(&held.device.name);
    let other =
        |held: &&Held| held.mode != args.wanted.mode || held.options != args.wanted.options();
    let mut devices: Vec<_> = journal.modes.iter().filter(wanted).filter(other).collect();
    devices.retain(|held| held.mode != Mode::Keep);
    let cut_off = !journal.unsettled.is_empty();
    if devices.is_empty() && !cut_off {
        return Ok(());
    }
    let mut hook = stops::from_environment();
    // The RFS table belongs to no device: with the last one that uses it, it goes back as well.
    let all = cut_off || devices.len() == journal.modes.len();
    let only = devices.iter().map(|held| Some(&held.device)).filter(|_| !all);
    let only: Vec<_> = only.chain(all.then_some(None)).collect();
    for device in only {
        let restored = restore(live, store, device, false, &mut hook.steps())?;
        if let Some((setting, why)) = restored.failures.first() {
            bail!("{setting} of the mode before did not go back: {why}");
        }
    }
    Ok(())
}
