//! A guest of the lab as the bed. After a fault of the emulator, a fresh guest replaces it.

mod environment;

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, ensure};

use super::bed::Bed;
use super::nic::NearNic;
use super::setup;
use super::tuning::Journal;
use steer_ground::progress::Progress;
use steer_ground::warning::Warning;
use steer_ground::word::Word;
use steer_lab::agent::{Link, Silent};
use steer_lab::facts::{Facts, Nic};
use steer_lab::fresh::Boots;
use steer_lab::guest::{Guest, GuestOptions};
use steer_lab::steering::{Steering, Wheel};
use steer_result::Environment;
use steer_scenario::generator::Generators;
use steer_scenario::layout::Layout;
use steer_scenario::setup::Setup;
use steer_scenario::workload::Workload;
use steer_traffic::client::ClientReport;

/// Lowest source port of the rounds. The client also uses about a thousand ports above its first.
const PORTS: Range<u16> = 20_000..60_000;

/// What all guests of a run have in common.
#[derive(Clone, Copy)]
pub(super) struct Make<'a> {
    pub(super) guest: &'a GuestOptions,
    pub(super) setup: &'a Setup,
    /// Folder for the guests' consoles.
    pub(super) out: &'a Path,
    pub(super) progress: &'a Progress,
}

/// A guest that is ready for samples.
pub(super) struct GuestBed<'a> {
    make: Make<'a>,
    boots: Boots,
    mode: Option<String>,
    ready: Ready,
}

/// What is new after each boot.
struct Ready {
    guest: Guest,
    facts: Facts,
    layout: Layout,
    wheel: Wheel,
}

impl<'a> GuestBed<'a> {
    /// Boots a guest and applies the settings.
    ///
    /// # Errors
    /// It does not boot, or a setting cannot be changed in it.
    pub(super) fn make(make: Make<'a>) -> Result<Self> {
        Ok(Self { make, boots: Boots::first(), mode: None, ready: boot(make, 1)? })
    }
}

fn boot(make: Make<'_>, boot: u32) -> Result<Ready> {
    let log = if boot == 1 { "console.log".to_owned() } else { format!("console-{boot}.log") };
    let mut guest = Guest::boot(make.guest, Some(&make.out.join(log)), make.progress)?;
    let prepared = prepare(&mut guest, make.setup);
    let (facts, wheel) = guest.survive(prepared)??;
    Ok(Ready { guest, layout: Layout::of_guest(&facts), facts, wheel })
}

fn prepare(guest: &mut Guest, setup: &Setup) -> Result<(Facts, Wheel)> {
    setup::apply(setup, guest)?;
    let facts = Facts::read(&mut guest.link, &guest.net)?;
    let wheel = Wheel::new(&mut guest.link, &guest.net, &facts)?;
    Ok((facts, wheel))
}

impl Bed for GuestBed<'_> {
    fn link(&mut self) -> &mut Link {
        &mut self.ready.guest.link
    }

    fn layout(&self) -> &Layout {
        &self.ready.layout
    }

    fn nics(&self) -> Vec<NearNic> {
        let of = |nic: &Nic| NearNic { name: nic.name.clone(), cpus: nic.cpus.clone() };
        self.ready.facts.nics.iter().map(of).collect()
    }

    /// A guest's settings end with it.
    fn journal(&self) -> Option<Journal> {
        None
    }

    /// With the port rule of `explicit`, flow i then meets queue i and the CPU that the pinned arm
    /// gives it.
    fn source_ports(&self) -> (Range<u16>, u16) {
        (PORTS, self.ready.guest.net.queues() as u16)
    }

    fn environment(&mut self) -> Result<Environment> {
        environment::read(&mut self.ready.guest, self.make.guest, &self.ready.facts)
    }

    fn warnings(&mut self) -> Result<Vec<Warning>> {
        Ok(Vec::new())
    }

    fn turn(&mut self, mode: &str) -> Result<()> {
        let steering = Steering::of_word(mode)
            .with_context(|| format!("there is no steering mode {mode:?}"))?;
        let Ready { guest, facts, wheel, .. } = &mut self.ready;
        let turned = wheel.turn(steering, &mut guest.link, &guest.net, facts);
        guest.survive(turned)??;
        self.mode = Some(mode.to_owned());
        Ok(())
    }

    fn drive(
        &mut self,
        workload: &Workload,
        warmup: Duration,
        source_port: u16,
    ) -> Result<(ClientReport, Instant)> {
        let net = &self.ready.guest.net;
        Generators::start(net, workload, warmup, source_port)?.finish(net)
    }

    fn afterwards(&mut self) -> Result<Vec<Warning>> {
        let complaints = self.ready.guest.complaints()?;
        ensure!(complaints.is_empty(), "the guest's kernel complains: {}", complaints.join(" | "));
        Ok(Vec::new())
    }

    fn recover(&mut self, mut error: Error) -> Result<String> {
        let guest = &mut self.ready.guest;
        let Some(said) = self.boots.another(guest) else {
            // The client may be the first to notice that the guest hangs. Then the error must say
            // so.
            if !error.is::<Silent>()
                && let Err(silent) = guest.link.read("/proc/uptime")
            {
                error = silent.context(format!("{error:#}"));
            }
            return guest.survive(Err(error))?;
        };
        self.ready = boot(self.make, self.boots.count())?;
        let mode = self.mode.take().context("no steering mode is set")?;
        self.turn(&mode)?;
        Ok(format!("{said}; the sample was taken in a fresh one"))
    }
}
