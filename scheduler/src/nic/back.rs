//! Puts back what some of the modes in the journal had set.

use anyhow::Result;
use steer_nic::{Held, Journal, Live, Restored, Store, restore};

use super::stops;

/// Puts back what the modes had set that `which` names, and, if it was cut off half-way, all. The
/// caller holds the lock.
///
/// # Errors
/// The journal or the settings cannot be read. What does not go back is told in the results.
pub(super) fn put_back(
    live: &Live,
    store: &Store,
    journal: &Journal,
    which: impl Fn(&Held) -> bool,
) -> Result<Vec<Restored>> {
    let devices: Vec<_> =
        journal.modes.iter().filter(|held| which(held)).map(|held| &held.device).collect();
    let cut_off = !journal.unsettled.is_empty();
    if devices.is_empty() && !cut_off {
        return Ok(Vec::new());
    }
    // The RFS table belongs to no device: with the last one that uses it, it goes back as well.
    let all = cut_off || devices.len() == journal.modes.len();
    let only = if all { vec![None] } else { devices.into_iter().map(Some).collect() };
    let mut hook = stops::from_environment();
    let put_back = |device| Ok(restore(live, store, device, false, &mut hook.steps())?);
    only.into_iter().map(put_back).collect()
}

/// What did not go back, and why.
pub(super) fn failures(restored: &[Restored]) -> Vec<&str> {
    restored.iter().flat_map(|it| &it.failures).map(|(_, why)| why.as_str()).collect()
}
