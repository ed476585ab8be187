//! `scx_steer nic apply`.

use anyhow::{Context, Result, bail};
use steer_nic::{Change, Held, Live, Mode, NicPlan, Store, apply};
use steer_policy::PolicySet;

use super::args::ApplyArgs;
use super::back::{failures, put_back};
use super::{plan, root, stops};

/// Plans, journals, writes and reads back.
pub(crate) fn run(args: &ApplyArgs) -> Result<()> {
    root::needed("nic apply")?;
    let policies = args.wanted.policies()?;
    let live = Live::open().context("opening a socket to ask drivers")?;
    let store = Store::open(&args.journal.folder)?;
    let _lock = store.lock()?;
    put_back_others(&live, &store, args, &policies)?;
    let mut plans = Vec::new();
    for planned in plan::plans(&live, &args.wanted, &policies)? {
        plans.push(planned?);
    }
    let changes = together(&plans);
    let held: Vec<Held> = plans.iter().map(|plan| held(plan, args, &policies)).collect();
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
pub(super) fn together(plans: &[NicPlan]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for change in plans.iter().flat_map(|plan| &plan.changes) {
        if !changes.iter().any(|it| it.setting == change.setting) {
            changes.push(change.clone());
        }
    }
    changes
}

fn held(plan: &NicPlan, args: &ApplyArgs, policies: &PolicySet) -> Held {
    let options = args.wanted.options(policies, &plan.device.name);
    Held { device: plan.device.clone(), mode: plan.mode, options, daemon: None }
}

/// Puts back what another mode had set, and what was cut off half-way: a plan begins with what the
/// host had before.
fn put_back_others(
    live: &Live,
    store: &Store,
    args: &ApplyArgs,
    policies: &PolicySet,
) -> Result<()> {
    let Some(journal) = super::journal(store)? else { return Ok(()) };
    let names = &args.wanted.interfaces;
    let other = |held: &Held| {
        (names.is_empty() || names.contains(&held.device.name))
            && held.mode != Mode::Keep
            && (held.mode != args.wanted.mode
                || held.options != args.wanted.options(policies, &held.device.name))
    };
    let restored = put_back(live, store, &journal, other)?;
    match failures(&restored).first() {
        Some(why) => bail!("a setting of the mode before did not go back: {why}"),
        None => Ok(()),
    }
}
