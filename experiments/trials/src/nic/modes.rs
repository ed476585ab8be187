//! Each mode once, by a daemon: it is set and reads back, stays through a link that goes down and
//! up and through a driver's reset of a setting, and everything is as before at the end.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::place::{Kind, Place, Settings};
use super::subject::Subject;

/// A daemon looks each second. It gets this long to have set things again.
const AGAIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(500);
/// Until the daemon has seen the device in its present state.
const SEEN: Duration = Duration::from_secs(4);

/// The modes that a kind of device can have.
pub(crate) fn modes(kind: Kind) -> &'static [&'static str] {
    match kind {
        // RFS is the host's, and not to be had in a namespace
        Kind::Veth => &["align", "busy-poll"],
        Kind::Virtio => &["align", "rfs", "busy-poll"],
        Kind::Other => &["align", "rfs", "arfs", "busy-poll"],
    }
}

/// Tries all modes of this kind of device; gives a line for each.
pub(crate) fn check(place: &Place, subject: &Subject) -> Result<Vec<String>> {
    let name = &place.interface;
    let check = |mode: &&str| {
        let set = one(place, subject, mode).with_context(|| format!("mode {mode}"))?;
        Ok(format!(
            "mode {mode} on {name}: set, read back, set again after link down and up, put back ({set})"
        ))
    };
    modes(place.kind).iter().map(check).collect()
}

/// Tries one; says how many settings it has set.
pub(crate) fn one(place: &Place, subject: &Subject, mode: &str) -> Result<String> {
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
        if mode == "rules" {
            place.lose_rule()?;
        }
        place.link_up()
    })?;
    let deadline = Instant::now() + AGAIN;
    while (place.settings()?, subject.napi(name)?) != during {
        let now = place.settings()?;
        ensure!(
            Instant::now() < deadline,
            "it is not set again: {now:?} instead of {during:?}; the daemon says: {}",
            daemon.said()
        );
        thread::sleep(LOOK);
    }
    daemon.end(false)?;
    let after = (place.settings()?, subject.napi(name)?);
    ensure!(after == before, "{after:?} is left of {before:?}");
    // fewer channels have fewer contexts
    let first = |napi: &str| napi.split(", ").next().map(str::to_owned);
    let changed = during.0.iter().filter(|(name, value)| before.0.get(*name) != Some(value));
    Ok(format!(
        "{} settings, NAPI {}",
        changed.count(),
        if first(&before.1) == first(&during.1) { "as before" } else { "set" }
    ))
}

/// Sets one of the settings that the mode changed to its value from before, if that can be done
/// while the link is down. A PCI device has no interrupts then.
fn reset(place: &Place, before: &Settings, during: &Settings) -> Result<()> {
    let was = |name: &str, now: &str| before.get(name).filter(|before| *before != now);
    let mut changed: Vec<_> =
        during.iter().filter_map(|(name, now)| Some((name, was(name, now)?))).collect();
    changed.retain(|(name, _)| place.is_open_while_down(name));
    changed.sort_by_key(|(name, _)| Place::queue_of(name).is_none());
    changed.first().map_or(Ok(()), |(name, before)| place.write(name, before))
}
