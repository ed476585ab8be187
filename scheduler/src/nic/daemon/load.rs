//! How many cores take a NIC's interrupts follows the load: measures, and moves interrupts.

use std::time::{Duration, Instant};

use anyhow::Result;
use log::info;
use steer_nic::{Change, Held, Live, Load, Options, Pace, Store, What, apply, plan};
use steer_topology::{CpuSet, Machine};

use crate::nic::stops;

/// How often the load is measured, and interrupts may move.
const EVERY: Duration = Duration::from_secs(5);
/// Queues whose interrupts move at once, at most.
const AT_ONCE: usize = 2;

/// Follows the load of one NIC.
pub(in crate::nic) struct Follower {
    pub(super) pace: Pace,
    started: Instant,
    /// The last measurement.
    last: Option<(Instant, Load)>,
    overloaded: bool,
    moving: bool,
}

impl Follower {
    /// Starts with as many of the cores that `near` covers as may take interrupts.
    pub(super) fn new(machine: &Machine, near: Option<&CpuSet>) -> Self {
        let online = machine.online_cpus();
        let near = near.cloned().unwrap_or_default().intersection(&online);
        let cores = machine.cores.iter().filter(|core| !core.cpus.is_disjoint(&near)).count();
        let pace = Pace::new(online.len(), cores);
        Self { pace, started: Instant::now(), last: None, overloaded: false, moving: false }
    }

    /// Whether softirq ran out of time at the last measurement.
    pub(super) fn is_overloaded(&self) -> bool {
        self.overloaded
    }

    /// Whether interrupts have yet to move: settings differ from what the mode wants in the end.
    pub(super) fn is_moving(&self) -> bool {
        self.moving
    }

    /// Whether it is time for the next step.
    pub(super) fn is_due(&self) -> bool {
        self.last.as_ref().is_none_or(|(then, _)| then.elapsed() >= EVERY)
    }

    /// Measures, and moves interrupts if the number of cores changes.
    pub(super) fn step(
        &mut self,
        live: &Live,
        store: &Store,
        machine: &Machine,
        held: &Held,
        foreign: &[String],
    ) -> Result<()> {
        let name = &held.device.name;
        let state = live.state(machine, name)?;
        let serving: CpuSet = state
            .irqs
            .iter()
            .filter(|irq| irq.queue.is_some())
            .flat_map(|irq| irq.asked.iter())
            .collect();
        let Some(now) = Load::now() else { return Ok(()) };
        let measured = self.last.as_ref().and_then(|(_, then)| now.since(then, &serving));
        self.last = Some((Instant::now(), now));
        if let Some((busy, overload)) = measured {
            self.overloaded = overload;
            if self.pace.step(self.started.elapsed(), busy, overload) {
                info!(
                    "NIC {name}: its cores spend {:.0} % of their time on interrupts; {} of {} \
                     cores take them from now on",
                    busy * 100.0,
                    self.pace.cores(),
                    self.pace.most()
                );
            }
        }
        let options = Options { active: Some(self.pace.cores()), ..held.options.clone() };
        let mut changes = plan(machine, &state, &live.host()?, held.mode, &options)?.changes;
        changes.retain(|change| !foreign.contains(&change.setting.to_string()));
        let all = changes.len();
        let changes = few(changes);
        self.moving = changes.len() < all;
        if !changes.is_empty() {
            let held = Held { options, ..held.clone() };
            let mut hook = stops::from_environment();
            apply(live, store, &changes, &[held], &mut hook.steps())?;
        }
        Ok(())
    }
}

/// The changes, with the interrupts of few queues. XPS follows when the last of them have moved.
fn few(mut changes: Vec<Change>) -> Vec<Change> {
    let moves = |change: &Change| matches!(change.setting.what, What::IrqAffinity(_));
    if changes.iter().filter(|change| moves(change)).count() > AT_ONCE {
        let mut moved = 0;
        changes.retain(|change| {
            moved += usize::from(moves(change));
            moves(change) && moved <= AT_ONCE
        });
    }
    changes
}
