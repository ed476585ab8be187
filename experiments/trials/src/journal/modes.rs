//! Each mode once, by a daemon: it is set and reads back, stays through a link that goes down and
//! up and through a driver's reset of a setting, and everything is as before at the end.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::event::modes;
use super::place::{Place, Settings};
use super::subject::Subject;

/// A daemon looks each second. It gets this long to have set things again.
const AGAIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(500);
/// Until the daemon has seen the device in its present state.
const SEEN: Duration = Duration::from_secs(4);

/// Tries all modes of this kind of device; gives a line for each.
pub(super) fn check(place: &Place, subject: &Subject) -> Result<Vec<String>> {
    let check = |mode: &&str| one(place, subject, mode).with_context(|| format!("mode {mode}"));
    modes(place.kind).iter().map(check).collect()
}

fn one(place: &Place, subject: &Subject, mode: &str) -> Result<String> {
    let name = &place.interface;
    let before = (place.settings()?, subject.napi(name)?);
    let mut daemon =
        subject.daemon(&format!("[nic.{name}]\nmode = \"{mode}\"\ncpus = \"0-1\"\n"))?;
    daemon.says(&["is in force, "])?;
    let during = (place.settings()?, subject.napi(name)?);
    ensure!(during != before, "it changes nothing");
    thread::sleep(SEEN);
    // as a driver whose ndo_open sets things anew
    daemon.while_stopped(|| {
        place.link_down()?;
        reset(place, &before.0, &during.0)?;
        place.link_up()
    })?;
    let deadline = Instant::now() + AGAIN;
    while (place.settings()?, subject.napi(name)?) != during {
        let now = place.settings()?;
        ensure!(Instant::now() < deadline, "it is not set again: {now:?} instead of {during:?}");
        thread::sleep(LOOK);
    }
    daemon.end(false)?;
    let after = (place.settings()?, subject.napi(name)?);
    ensure!(after == before, "{after:?} is left of {before:?}");
    // fewer channels have fewer contexts
    let first = |napi: &str| napi.split(", ").next().map(str::to_owned);
    let changed = during.0.iter().filter(|(name, value)| before.0.get(*name) != Some(value));
    Ok(format!(
        "mode {mode} on {name}: set, read back, set again after link down and up, put back ({} \
         settings, NAPI {})",
        changed.count(),
        if first(&before.1) == first(&during.1) { "as before" } else { "set" }
    ))
}

/// Sets one of the settings that the mode changed to its value from before.
fn reset(place: &Place, before: &Settings, during: &Settings) -> Result<()> {
    let of_queue = |name: &str| Place::queue_of(name).is_some();
    let changed = during.iter().find(|(name, value)| {
        of_queue(name) && before.get(*name).is_some_and(|before| before != *value)
    });
    let (name, _) = changed.context("the mode changes no setting of a queue")?;
    place.write(name, &before[name])
}
