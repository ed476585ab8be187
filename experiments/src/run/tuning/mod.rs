//! What operators do for a host's network without us, as part of an arm: `default+rfs`. Set before
//! each sample of the arm and put back after it, whatever came of the sample.

mod idle;
mod journal;
mod pause;
mod tuned;
mod was;
mod xps;

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::arm::Arm;
use super::bed::Bed;
use super::setup;
pub(super) use journal::{JOURNAL, Journal};
pub(super) use tuned::{Tuned, with};

/// Name of irqbalance, and of its program.
const IRQBALANCE: &str = "irqbalance";

/// Something that an operator sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tuning {
    /// Packets are processed on the CPU where their flow is read: the table of readers, and one of
    /// each receive queue. `rps_cpus` stays as it is: it would only spread the packets of flows that
    /// nobody has read yet.
    Rfs,
    /// The daemon that spreads interrupts over CPUs by their load. It looks every second rather than
    /// every ten, so that it has settled when a sample begins.
    Irqbalance,
    /// Each queue's interrupts and its XPS mask on one CPU of the NIC's node.
    Xps,
    /// No Ethernet pause frames.
    NoPause,
    /// A limit on how long an idle state may take to leave.
    ShallowIdle,
}

/// Their names, as in arms.
const NAMES: [(&str, Tuning); 5] = [
    ("rfs", Tuning::Rfs),
    (IRQBALANCE, Tuning::Irqbalance),
    ("xps", Tuning::Xps),
    ("nopause", Tuning::NoPause),
    ("shallow-idle", Tuning::ShallowIdle),
];

impl Tuning {
    /// The one with this name.
    pub(super) fn named(name: &str) -> Result<Self> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, tuning)| *tuning).with_context(|| {
            let names = NAMES.map(|(name, _)| name).join(", ");
            format!("after a + comes one of {names}, not {name:?}")
        })
    }

    /// The program that it needs in a guest, and how to install it.
    pub(super) fn needs(self) -> Option<(&'static str, &'static str)> {
        match self {
            // Installing it would also start it on this machine.
            Self::Irqbalance => Some((
                IRQBALANCE,
                "install the package irqbalance, or unpack it (apt-get download irqbalance; \
                 dpkg -x) and name its program with --with",
            )),
            Self::NoPause => Some(ETHTOOL),
            Self::Rfs | Self::Xps | Self::ShallowIdle => None,
        }
    }
}

/// The program that sets devices, and how to install it.
pub(super) const ETHTOOL: (&str, &str) = ("ethtool", "apt install ethtool");

/// Takes a program into the guest, unless it is among those that the user brings.
///
/// # Errors
/// As [`setup::installed`].
pub(super) fn bring((program, how): (&str, &str), programs: &mut Vec<PathBuf>) -> Result<()> {
    if !programs.iter().any(|known| known.ends_with(program)) {
        programs.push(setup::installed(program, how)?);
    }
    Ok(())
}

/// Sets all that the arms name once and puts it back, so that what cannot be had is known before
/// anything is measured.
///
/// # Errors
/// [`setup::Unsupported`], when the machine cannot do one of them.
pub(super) fn rehearse(bed: &mut dyn Bed, arms: &[Arm]) -> Result<()> {
    for (name, tuning) in NAMES {
        if let Some(arm) = arms.iter().find(|arm| arm.tunings.contains(&tuning)) {
            Tuned::apply(bed, &[tuning])
                .and_then(|tuned| tuned.undo(bed.link()))
                .with_context(|| format!("+{name} of the arm {}", arm.name))?;
        }
    }
    Ok(())
}
