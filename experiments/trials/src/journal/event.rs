//! What happens in a trial, drawn at random.

use crate::nic::modes::modes;
use crate::nic::place::Kind;
use crate::nic::subject::Cut;

/// An event.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// `nic apply` of a mode on these CPUs.
    Apply(&'static str, &'static str, Option<Cut>),
    /// `nic restore`.
    Restore(Option<Cut>),
    /// `nic daemon` of a mode on these CPUs: lives a while, and ends by TERM or KILL.
    Daemon {
        mode: &'static str,
        keep: bool,
        kill: bool,
    },
    /// Another program gives this setting of those that exist (by turns) a value.
    Foreign(usize),
    /// Another program changes the number of channels.
    ForeignChannels,
    LinkDownUp,
    /// The device leaves and comes back; so does a driver that is reset.
    Replace,
    /// A CPU goes offline, or the one that did comes back.
    Cpu(u32),
    Reboot,
    /// A mode is applied, or all is put back, while the disk is full.
    DiskFull {
        restore: bool,
    },
    /// The journal is damaged at this place, or cut there; commands refuse to work with it.
    Corrupt {
        at: f64,
        cut: bool,
    },
}

/// Draws an event of one sort.
type Draw = fn(Kind, &mut fastrand::Rng) -> Event;

impl Event {
    /// One at random.
    pub(super) fn draw(kind: Kind, rng: &mut fastrand::Rng) -> Event {
        let weights: &[(u32, Draw)] = &[
            (30, |kind, rng| Event::Apply(mode(kind, rng), cpus(kind, rng), cut(rng))),
            (15, |_, rng| Event::Restore(cut(rng))),
            (6, |kind, rng| {
                let (keep, kill) = (rng.u8(0..3) == 0, rng.bool());
                Event::Daemon { mode: mode(kind, rng), keep, kill }
            }),
            (16, |_, rng| Event::Foreign(rng.usize(..))),
            (6, |_, _| Event::ForeignChannels),
            (6, |_, _| Event::LinkDownUp),
            (4, |_, _| Event::Replace),
            (3, |_, _| Event::Reboot),
            (5, |_, rng| Event::DiskFull { restore: rng.bool() }),
            (5, |_, rng| Event::Corrupt { at: rng.f64(), cut: rng.bool() }),
            // the host's CPUs are not ours
            (6, |kind, rng| match kind {
                Kind::Veth | Kind::Other => Event::LinkDownUp,
                Kind::Virtio => Event::Cpu(rng.u32(1..4)),
            }),
        ];
        let mut at = rng.u32(0..weights.iter().map(|(weight, _)| weight).sum());
        for (weight, draw) in weights {
            if at < *weight {
                return draw(kind, rng);
            }
            at -= weight;
        }
        unreachable!("the sum of the weights bounds it")
    }

    /// Its name, for counts.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Event::Apply(_, _, cut) => match cut {
                None => "apply",
                Some(Cut::Die(_) | Cut::Kill(_)) => "apply, KILL",
                Some(Cut::Term(_)) => "apply, TERM",
                Some(Cut::Fail(_)) => "apply, a write fails",
            },
            Event::Restore(cut) => match cut {
                None => "restore",
                Some(Cut::Die(_) | Cut::Kill(_)) => "restore, KILL",
                Some(Cut::Term(_)) => "restore, TERM",
                Some(Cut::Fail(_)) => "restore, a write fails",
            },
            Event::Daemon { kill: false, keep: false, .. } => "daemon, TERM",
            Event::Daemon { kill: true, .. } => "daemon, KILL",
            Event::Daemon { keep: true, .. } => "daemon, TERM, on-exit keep",
            Event::Foreign(_) => "foreign change",
            Event::ForeignChannels => "foreign change of channels",
            Event::LinkDownUp => "link down and up",
            Event::Replace => "NIC removed and back",
            Event::Cpu(_) => "CPU offline or online",
            Event::Reboot => "reboot with the old journal",
            Event::DiskFull { .. } => "disk full",
            Event::Corrupt { .. } => "journal damaged",
        }
    }
}

fn mode(kind: Kind, rng: &mut fastrand::Rng) -> &'static str {
    let modes = modes(kind);
    modes[rng.usize(..modes.len())]
}

/// At most two cores: see `Place::foreign_channels`.
pub(super) fn cpus(kind: Kind, rng: &mut fastrand::Rng) -> &'static str {
    let sets: &[&str] = match kind {
        Kind::Veth => &["0", "1", "0-1"],
        Kind::Virtio | Kind::Other => &["2-3", "0-1", "1-2", "3"],
    };
    sets[rng.usize(..sets.len())]
}

fn cut(rng: &mut fastrand::Rng) -> Option<Cut> {
    Some(match rng.u8(0..10) {
        0..3 => Cut::Die(rng.u32(1..40)),
        3..5 => Cut::Fail(rng.u32(1..30)),
        5 => Cut::Term(rng.u64(0..120)),
        6 => Cut::Kill(rng.u64(0..120)),
        _ => return None,
    })
}
