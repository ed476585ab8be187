//! The guest that samples are taken in, with its settings; a fresh one after a fault of the emulator.

use std::path::Path;

use anyhow::Result;

use super::arm::Arm;
use super::sample::{self, Measured};
use super::setup::SetupArgs;
use super::workload::WorkloadArgs;
use crate::lab::facts::Facts;
use crate::lab::guest::{Guest, GuestArgs};
use crate::lab::progress::Progress;
use crate::lab::steering::{Steering, Wheel};

/// A guest that is ready for samples.
pub(super) struct Bed {
    pub(super) guest: Guest,
    pub(super) facts: Facts,
    wheel: Wheel,
}

impl Bed {
    /// Boots a guest, its console going to the file `log`, and applies the settings.
    ///
    /// # Errors
    /// When it does not boot, or what a setting needs cannot be had.
    pub(super) fn make(
        guest: &GuestArgs,
        setup: &SetupArgs,
        log: &Path,
        progress: &Progress,
    ) -> Result<Self> {
        let mut guest = Guest::boot(guest, Some(log), progress)?;
        let prepared = prepare(&mut guest, setup);
        let (facts, wheel) = guest.survive(prepared)??;
        Ok(Self { guest, facts, wheel })
    }

    /// Puts the guest in a world.
    pub(super) fn turn(&mut self, world: Steering) -> Result<()> {
        let Self { guest, facts, wheel } = self;
        let turned = wheel.turn(world, &mut guest.link, &guest.net, facts);
        guest.survive(turned)?
    }

    /// Takes a sample.
    ///
    /// # Errors
    /// As [`sample::take`]; with the end of the console, if the guest is lost.
    pub(super) fn take(
        &mut self,
        arm: &Arm,
        workload: &WorkloadArgs,
        source_port: u16,
    ) -> Result<Measured> {
        let taken = sample::take(&mut self.guest, &self.facts, arm, workload, source_port);
        self.guest.survive(taken)?
    }
}

fn prepare(guest: &mut Guest, setup: &SetupArgs) -> Result<(Facts, Wheel)> {
    setup.apply(guest)?;
    let facts = Facts::read(&mut guest.link)?;
    let wheel = Wheel::new(&mut guest.link, &guest.net, &facts)?;
    Ok((facts, wheel))
}
