//! The trials on this machine: the hidden command that `lab journal` starts in a namespace of its
//! own, and inside a guest.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::trial::{self, Trial};
use crate::nic::modes;
use crate::nic::place::{Kind, Place};
use crate::nic::subject::Subject;

/// Which trials to run here.
#[derive(Debug, Clone)]
pub struct HereOptions {
    /// The device; a veth pair of this name is made if it does not exist.
    pub interface: String,
    /// Number of the first trial. A trial with a number and a seed is always the same.
    pub first: u64,
    /// How many.
    pub trials: u64,
    /// Try each mode once, first.
    pub modes: bool,
    /// The seed.
    pub seed: u64,
    /// The program under test.
    pub scx_steer: PathBuf,
}

/// What came out of trials.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) trials: u64,
    /// Modes that were tried, each with where.
    pub(super) modes: Vec<String>,
    /// How often each kind of event happened.
    pub(super) events: BTreeMap<String, u64>,
    /// Values from before that did not come back.
    pub(super) lost: u64,
    /// Values of another program that were overwritten.
    pub(super) overwritten: u64,
    /// Each fault, with its trial and what had happened.
    pub(super) faults: Vec<String>,
}

impl Tally {
    pub(super) fn add(&mut self, other: Tally) {
        self.trials += other.trials;
        self.lost += other.lost;
        self.overwritten += other.overwritten;
        self.faults.extend(other.faults);
        self.modes.extend(other.modes);
        for (event, count) in other.events {
            *self.events.entry(event).or_default() += count;
        }
    }
}

/// Runs trials, prints what came out as a line of JSON.
///
/// # Errors
/// A trial cannot be run. What the trials find is no error.
pub fn run(options: &HereOptions) -> Result<()> {
    let folder = tempfile::tempdir().context("making a folder")?;
    let subject = Subject::new(&options.scx_steer, folder.path())?;
    let exists = std::path::Path::new("/sys/class/net").join(&options.interface).exists();
    let kind = if exists { Kind::Virtio } else { Kind::Veth };
    let place = Place::new(&options.interface, kind)?;
    let (mut tally, mut boots) = (Tally::default(), 0);
    if options.modes {
        place.reboot().context("making the device as new")?;
        tally.modes = modes::check(&place, &subject)?;
    }
    for number in options.first..options.first + options.trials {
        let mut rng =
            fastrand::Rng::with_seed(options.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let events = trial::draw(kind, &mut rng);
        place.reboot().context("making the device as new")?;
        boots += 1;
        subject.reboot(boots)?;
        let faults = Trial::run(&place, &subject, &mut rng, &mut boots, &events)
            .with_context(|| format!("trial {number}: {events:?}"))?;
        tally.trials += 1;
        for event in &events {
            *tally.events.entry(event.name().to_owned()).or_default() += 1;
        }
        for fault in faults {
            *(if fault.foreign { &mut tally.overwritten } else { &mut tally.lost }) += 1;
            tally.faults.push(format!("trial {number}: {}; events: {events:?}", fault.text));
        }
    }
    ensure!(tally.trials == options.trials, "some trials were not run");
    println!("{}", serde_json::to_string(&tally)?);
    Ok(())
}
