//! One look at the NICs: puts back what is no longer wanted, sets what is wanted and not in force,
//! and keeps the rest as it is.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use log::{info, warn};
use steer_nic::{
    Error, Held, Journal, Judge, Live, Lock, Mode, Next, Options, Proof, Rules, Sample, Store,
    apply, plan,
};
use steer_policy::{NicWish, OnExit, PortPool, ServingCores};
use steer_topology::Machine;

use super::load::Follower;
use super::wishes::Wishes;
use crate::nic::back::{failures, put_back};
use crate::nic::keeper::Keeper;
use crate::nic::stops;

/// A mode that could not be set is tried again after this time ...
const RETRY: Duration = Duration::from_secs(10);
/// ... and, if settings had been written and went back, after twice as long each time, up to this:
/// each try may disturb traffic.
const LONGEST: Duration = Duration::from_secs(3600);
/// How often a driver is asked for its counters: some take milliseconds.
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// Why a mode is not in force.
pub(super) struct Trouble {
    pub(super) why: String,
    since: Instant,
    /// Until it is tried again.
    rest: Duration,
}

/// Who looks after the NICs.
pub(super) struct Duty {
    live: Live,
    store: Store,
    /// Held as long as any mode is in force, so that no other scx_steer changes settings meanwhile.
    lock: Option<Lock>,
    keeper: Keeper,
    started: Instant,
    /// Of NICs with the mode `auto`.
    pub(super) judges: BTreeMap<String, Judge>,
    /// Of NICs in the mode `arfs`.
    pub(super) proofs: BTreeMap<String, Proof>,
    counted: Option<Instant>,
    /// Of NICs whose number of cores follows the load.
    pub(super) followers: BTreeMap<String, Follower>,
    /// What went wrong with a NIC.
    pub(super) troubles: BTreeMap<String, Trouble>,
    /// How often the host file had changed at the last look.
    reloads: u64,
    /// What is in force now, as the journal has it.
    pub(super) journal: Journal,
    /// By NIC in the mode `rules`, where packets to some ports belong.
    ports: BTreeMap<String, Vec<PortPool>>,
    /// By NIC, settings that another program changed.
    pub(super) foreign: BTreeMap<String, Vec<String>>,
}

impl Duty {
    /// Begins, with the journal in `folder`.
    pub(super) fn new(folder: &Path) -> Result<Self> {
        Ok(Self {
            live: Live::open().context("opening a socket to ask drivers")?,
            store: Store::open(folder)?,
            lock: None,
            keeper: Keeper::default(),
            started: Instant::now(),
            judges: BTreeMap::new(),
            proofs: BTreeMap::new(),
            counted: None,
            followers: BTreeMap::new(),
            troubles: BTreeMap::new(),
            reloads: 0,
            journal: Journal::default(),
            ports: BTreeMap::new(),
            foreign: BTreeMap::new(),
        })
    }

    /// Looks once. `placed` is what the scheduler has counted, if one is in force.
    ///
    /// # Errors
    /// Nothing can be done for any NIC: another program holds the lock, or the journal is damaged.
    pub(super) fn look(&mut self, wishes: &Wishes, placed: Option<Sample>) -> Result<()> {
        let nics = wishes.nics();
        match self.read_journal() {
            // what is in force there is root's to put back
            Err(error) if nics.is_empty() && is_denied(&error) => return Ok(()),
            Err(error) if is_denied(&error) => return Err(error.context(
                "modes of NICs are asked for, and only root may set them (the packages' service: \
                 see nic-modes.conf)",
            )),
            read => read?,
        }
        let ours = self.journal.modes.iter().any(|held| held.daemon.is_some());
        if nics.is_empty() && !ours {
            self.lock = None;
            self.troubles.clear();
            return Ok(());
        }
        if self.lock.is_none() {
            self.lock = Some(self.store.lock()?);
            self.read_journal()?;
        }
        self.judges.retain(|name, _| nics.get(name).is_some_and(|it| it.mode == Mode::Auto));
        for (name, _) in nics.iter().filter(|(_, wish)| wish.mode == Mode::Auto) {
            self.judge(name, placed);
        }
        self.verify(&nics);
        let by_rules = nics.iter().filter(|(_, wish)| wish.mode == Mode::Rules);
        let ports = by_rules.map(|(name, _)| (name.clone(), wishes.ports(name))).collect();
        if self.ports != ports || self.reloads != wishes.reloads {
            // what went wrong before may go well now
            self.troubles.values_mut().for_each(|trouble| trouble.rest = Duration::ZERO);
        }
        (self.ports, self.reloads) = (ports, wishes.reloads);
        self.put_back_unwanted(&nics)?;
        self.troubles.retain(|name, _| nics.contains_key(name));
        for (name, wish) in &nics {
            let waits = self.troubles.get(name).is_some_and(|it| it.since.elapsed() < it.rest);
            match if waits { Ok(()) } else { self.serve(name, wish, wishes.on_exit()) } {
                Ok(()) if waits => {}
                Ok(()) => drop(self.troubles.remove(name)),
                Err(error) => self.fail(name, &error),
            }
        }
        self.read_journal()
    }

    /// Ends: puts back what is in force, or leaves it.
    ///
    /// # Errors
    /// Something did not go back; the journal keeps it.
    pub(super) fn end(&mut self, on_exit: OnExit) -> Result<()> {
        if self.lock.is_none() || on_exit == OnExit::Keep {
            return Ok(());
        }
        self.read_journal()?;
        self.take_back(|held| held.daemon.is_some())
    }

    fn read_journal(&mut self) -> Result<()> {
        self.journal = crate::nic::journal(&self.store)?.unwrap_or_default();
        Ok(())
    }

    fn fail(&mut self, name: &str, error: &anyhow::Error) {
        let why = format!("{error:#}");
        let before = self.troubles.get(name).filter(|before| before.why == why);
        if before.is_none() {
            warn!("NIC {name}: {why}");
        }
        let wrote = matches!(
            error.downcast_ref(),
            Some(Error::RolledBack { .. } | Error::RollbackFailed { .. })
        );
        let rest = before.filter(|_| wrote).map_or(RETRY, |before| 2 * before.rest);
        let rest = rest.clamp(RETRY, LONGEST);
        if let Some(judge) = self.judges.get_mut(name) {
            judge.failed(self.started.elapsed());
        }
        self.troubles.insert(name.to_owned(), Trouble { why, since: Instant::now(), rest });
    }

    /// Decides whether the mode `auto` is to set anything.
    fn judge(&mut self, name: &str, placed: Option<Sample>) {
        let judge = self.judges.entry(name.to_owned()).or_default();
        let Some(mut sample) = placed else { return };
        sample.overload = self.followers.get(name).is_some_and(Follower::is_overloaded);
        match judge.step(self.started.elapsed(), sample) {
            Next::Stay => {}
            Next::Try(share) => info!(
                "NIC {name}, mode auto: {:.0} % of the wake-ups of long-flow threads were near it; \
                 trying align",
                share * 100.0
            ),
            Next::Leave(before, after) => info!(
                "NIC {name}, mode auto: align did not help ({:.0} % near it before, {:.0} % after); \
                 it goes back",
                before * 100.0,
                after * 100.0
            ),
        }
    }

    /// Looks at the counters of NICs in the mode `arfs`: does it work?
    fn verify(&mut self, nics: &BTreeMap<String, NicWish>) {
        self.proofs.retain(|name, _| nics.get(name).is_some_and(|it| it.mode == Mode::Arfs));
        if self.counted.is_some_and(|then| then.elapsed() < COUNT_EVERY) {
            return;
        }
        self.counted = Some(Instant::now());
        let in_force = self.journal.modes.iter().map(|held| &held.device.name);
        for name in in_force.filter(|name| nics.get(*name).is_some_and(|it| it.mode == Mode::Arfs))
        {
            if self.proofs.get(name).is_some_and(Proof::is_settled) {
                continue;
            }
            // a NIC that left is somebody else's trouble
            let Ok(statistics) = self.live.statistics(name) else { continue };
            let packets = self.live.attribute(name, "statistics/rx_packets");
            let packets = packets.and_then(|packets| packets.trim().parse().ok()).unwrap_or(0);
            let proof = self.proofs.entry(name.clone()).or_default();
            if proof.step(self.started.elapsed(), Rules::counted(&statistics), packets) {
                info!("NIC {name}, mode arfs: {}", proof.says());
            }
        }
    }

    /// The mode to set for a wish, if any.
    fn resolve(&self, name: &str, wish: &NicWish) -> Option<(Mode, Options)> {
        let mode = match wish.mode {
            Mode::Auto if !self.judges.get(name)?.wants() => return None,
            Mode::Auto => Mode::Align,
            Mode::Arfs if self.proofs.get(name).is_some_and(|proof| !proof.holds()) => Mode::Align,
            mode => mode,
        };
        let ports = self.ports.get(name).cloned().unwrap_or_default();
        let mut options = Options { cpus: wish.cpus.clone(), ports, ..Options::default() };
        match (wish.cores, self.followers.get(name)) {
            (ServingCores::AtMost(cores), _) => options.cores = Some(cores as usize),
            (_, Some(follower)) if follows_load(wish) => {
                options.cores = Some(follower.pace.most());
                options.active = Some(follower.pace.cores());
            }
            _ => {}
        }
        Some((mode, options))
    }

    /// Whether a mode in force is the one that is wanted.
    fn is_wanted(&self, held: &Held, nics: &BTreeMap<String, NicWish>) -> bool {
        let wish = nics.get(&held.device.name);
        let wanted = wish.and_then(|wish| self.resolve(&held.device.name, wish));
        wanted.is_some_and(|(mode, options)| {
            held.mode == mode
                && held.options.cpus == options.cpus
                && held.options.cores == options.cores
                && held.options.ports == options.ports
        })
    }

    fn put_back_unwanted(&mut self, nics: &BTreeMap<String, NicWish>) -> Result<()> {
        let concerns = |held: &Held| held.daemon.is_some() || nics.contains_key(&held.device.name);
        let unwanted = |held: &Held| concerns(held) && !self.is_wanted(held, nics);
        let names = self.journal.modes.iter().filter(|held| unwanted(held));
        let names: Vec<String> = names.map(|held| held.device.name.clone()).collect();
        if names.is_empty() && self.journal.unsettled.is_empty() {
            return Ok(());
        }
        self.take_back(|held| names.contains(&held.device.name))?;
        names.iter().for_each(|name| drop(self.followers.remove(name)));
        self.read_journal()
    }

    fn take_back(&mut self, which: impl Fn(&Held) -> bool) -> Result<()> {
        for held in self.journal.modes.iter().filter(|held| which(held)) {
            info!("NIC {}: the settings of mode {} go back", held.device, held.mode);
            self.keeper.forget(&held.device);
        }
        let restored = put_back(&self.live, &self.store, &self.journal, which)?;
        match failures(&restored).as_slice() {
            [] => Ok(()),
            failures => bail!("not put back: {}", failures.join("; ")),
        }
    }

    /// Sets a mode that is not in force, or keeps it in force.
    fn serve(&mut self, name: &str, wish: &NicWish, on_exit: OnExit) -> Result<()> {
        let held = self.journal.modes.iter().find(|held| held.device.name == name).cloned();
        if let Some(held) = held.filter(|held| held.daemon == Some(on_exit)) {
            if follows_load(wish) {
                self.follow_load(name, &held)?;
            }
            if !self.followers.get(name).is_some_and(Follower::is_moving) {
                self.keeper.look(&self.live, &self.store, &held)?;
            }
            let foreign = self.keeper.foreign(&held.device);
            if self.foreign.insert(name.to_owned(), foreign).is_none() {
                info!("NIC {name}: mode {} is in force, as a daemon before left it", held.mode);
            }
            return Ok(());
        }
        self.foreign.remove(name);
        if self.judges.get(name).is_some_and(|judge| !judge.wants()) {
            return Ok(());
        }
        self.set(name, wish, on_exit)
    }

    fn set(&mut self, name: &str, wish: &NicWish, on_exit: OnExit) -> Result<()> {
        let known = self.live.interfaces();
        if !known.iter().any(|it| it == name) {
            bail!(
                "there is no such network interface here; there are: {}; its mode is set when it \
                 appears",
                known.join(", ")
            );
        }
        let machine = Machine::live()?;
        let state = self.live.state(&machine, name)?;
        if follows_load(wish) && !self.followers.contains_key(name) {
            let follower =
                Follower::new(&machine, wish.cpus.as_ref().or(state.local_cpus.as_ref()));
            self.followers.insert(name.to_owned(), follower);
        }
        let Some((mode, options)) = self.resolve(name, wish) else { return Ok(()) };
        let plan = plan(&machine, &state, &self.live.host()?, mode, &options)?;
        plan.notes.iter().for_each(|note| info!("NIC {name}: {note}"));
        let held = Held { device: plan.device.clone(), mode, options, daemon: Some(on_exit) };
        let mut hook = stops::from_environment();
        let applied = apply(&self.live, &self.store, &plan.changes, &[held], &mut hook.steps())?;
        self.keeper.forget(&plan.device);
        self.foreign.insert(name.to_owned(), Vec::new());
        info!("NIC {name}: mode {mode} is in force, {} settings written", applied.written);
        Ok(())
    }

    fn follow_load(&mut self, name: &str, held: &Held) -> Result<()> {
        if self.followers.get(name).is_some_and(|follower| !follower.is_due()) {
            return Ok(());
        }
        let machine = Machine::live()?;
        let follower = self.followers.entry(name.to_owned());
        let near = held.options.cpus.clone();
        let follower = follower.or_insert_with(|| {
            let local = machine.nic(name).and_then(|nic| nic.local_cpus.clone());
            Follower::new(&machine, near.or(local).as_ref())
        });
        let foreign = self.keeper.foreign(&held.device);
        follower.step(&self.live, &self.store, &machine, held, &foreign)
    }
}

/// Whether the number of cores of a NIC follows the load.
fn follows_load(wish: &NicWish) -> bool {
    // pools say which cores serve
    (wish.cores == ServingCores::ByLoad && wish.mode != Mode::Rules)
        || (wish.mode == Mode::Auto && wish.cores == ServingCores::All)
}

/// Whether the journal is out of reach for this user.
fn is_denied(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(Error::Journal { cause, .. }) if cause.kind() == io::ErrorKind::PermissionDenied
    )
}
