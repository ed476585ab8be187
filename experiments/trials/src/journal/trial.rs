//! One trial: an administrator has set some things; then events; then everything is put back. Every
//! setting has to have its value from before, or the one that another program gave it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::event::{Event, cpus};
use crate::nic::place::{Kind, Place, SOCK_FLOWS, Settings};
use crate::nic::subject::{Cut, Subject};

/// A setting that is not as it has to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Another program's value was overwritten; otherwise a value from before was lost.
    pub(super) foreign: bool,
    pub(super) text: String,
}

/// What a setting may be in the end.
#[derive(Debug, Default)]
struct Due {
    values: BTreeSet<String>,
    /// Another program has set it.
    foreign: bool,
}

pub(super) struct Trial<'a> {
    place: &'a Place,
    subject: &'a Subject,
    rng: &'a mut fastrand::Rng,
    due: BTreeMap<String, Due>,
    offline: Option<u32>,
    boots: &'a mut u64,
    faults: Vec<Fault>,
}

impl<'a> Trial<'a> {
    /// Runs `events` on a device that is as new; gives what is wrong in the end.
    pub(super) fn run(
        place: &'a Place,
        subject: &'a Subject,
        rng: &'a mut fastrand::Rng,
        boots: &'a mut u64,
        events: &[Event],
    ) -> Result<Vec<Fault>> {
        let (due, faults) = (BTreeMap::new(), Vec::new());
        let mut trial = Self { place, subject, rng, due, offline: None, boots, faults };
        for _ in 0..trial.rng.usize(..6) {
            let which = trial.rng.usize(..);
            trial.foreign(which)?;
        }
        // what was set up to now is simply how the host was
        trial.due = trial.place.settings()?.into_iter().map(|it| (it.0, Due::is(it.1))).collect();
        for event in events {
            trial.happen(event)?;
        }
        trial.end()?;
        Ok(trial.faults)
    }

    fn happen(&mut self, event: &Event) -> Result<()> {
        // After a kill amid a change of channels nobody can tell whose a queue's settings are.
        let foreign = matches!(event, Event::Foreign(_) | Event::ForeignChannels);
        if foreign && self.subject.is_unsettled() {
            return Ok(());
        }
        match event {
            Event::Apply(mode, cpus, cut) => self.apply(mode, cpus, *cut),
            Event::Restore(cut) => self.subject.run(&["restore"], *cut).map(drop),
            Event::Daemon { mode, keep, kill } => self.daemon(mode, *keep, *kill),
            Event::Foreign(which) => self.foreign(*which),
            Event::ForeignChannels => {
                let channels = Place::foreign_channels(self.rng);
                self.by_driver(|place| place.write("channels", &channels))?;
                self.due.insert("channels".into(), Due::of_somebody(channels));
                Ok(())
            }
            Event::LinkDownUp => self.by_driver(Place::link_down_up),
            Event::Cpu(cpu) => self.toggle(*cpu),
            Event::Replace => self.anew(Place::replace),
            Event::Reboot => {
                *self.boots += 1;
                self.subject.reboot(*self.boots)?;
                self.anew(Place::reboot)
            }
            Event::DiskFull { restore } => {
                let words =
                    apply_words(&self.place.interface, "align", cpus(self.place.kind, self.rng));
                let words: &[&str] = if *restore { &["restore"] } else { &words };
                self.subject.while_full(|| self.subject.run(words, None)).map(drop)
            }
            Event::Corrupt { at, cut } => self.corrupt(*at, *cut),
        }
    }

    /// Applies a mode. One that fails without being killed changes nothing.
    fn apply(&mut self, mode: &str, cpus: &str, cut: Option<Cut>) -> Result<()> {
        let before = self.place.settings()?;
        let first = self.subject.journal_bytes().is_none();
        let output = self.subject.run(&apply_words(&self.place.interface, mode, cpus), cut)?;
        if first && output.status.code() == Some(1) {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let after = self.place.settings()?;
            self.compare(&before, &after, &format!("a refused apply changed it ({})", said.trim()));
        }
        Ok(())
    }

    fn daemon(&mut self, mode: &str, keep: bool, kill: bool) -> Result<()> {
        let fate = if keep { "keep" } else { "restore" };
        let cpus = cpus(self.place.kind, self.rng);
        let file = format!(
            "on-exit = \"{fate}\"\n[nic.{}]\nmode = \"{mode}\"\ncpus = \"{cpus}\"\n",
            self.place.interface
        );
        let mut daemon = self.subject.daemon(&file)?;
        daemon.says(&["is in force, ", "WARN"])?;
        daemon.end(kill)
    }

    /// Another program sets one of the settings that exist.
    fn foreign(&mut self, which: usize) -> Result<()> {
        let names: Vec<String> = self.place.settings()?.into_keys().collect();
        let name = &names[which % names.len()];
        if let Some(value) = self.place.foreign_value(name, self.rng) {
            // an interrupt may be on its way, and a CPU offline: then it is not set
            if self.place.write(name, &value).is_ok() {
                let value = self.place.settings()?.remove(name).unwrap_or_default();
                self.due.insert(name.clone(), Due::of_somebody(value));
            }
        }
        Ok(())
    }

    /// Something by which a driver or the kernel sets things anew. What it makes of them is
    /// nobody's choice: it may stay or go back.
    fn by_driver(&mut self, event: impl FnOnce(&Place) -> Result<()>) -> Result<()> {
        let before = self.place.settings()?;
        event(self.place)?;
        for (name, value) in self.place.settings()? {
            if before.get(&name) != Some(&value) {
                self.due.entry(name).or_default().values.insert(value);
            }
        }
        Ok(())
    }

    /// The device is as new: whatever was before went with it.
    fn anew(&mut self, event: impl FnOnce(&Place) -> Result<()>) -> Result<()> {
        let host = self.due.remove(SOCK_FLOWS);
        event(self.place)?;
        let settings = self.place.settings()?;
        self.due = settings.into_iter().map(|(name, value)| (name, Due::is(value))).collect();
        if let Some(host) = host {
            let now = self.due.entry(SOCK_FLOWS.into()).or_default();
            now.values.extend(host.values);
        }
        Ok(())
    }

    fn toggle(&mut self, cpu: u32) -> Result<()> {
        match self.offline.take() {
            Some(offline) => self.by_driver(|_| Place::set_online(offline, true)),
            None => {
                self.offline = Some(cpu);
                self.by_driver(|_| Place::set_online(cpu, false))
            }
        }
    }

    /// Damages the journal: commands refuse and change nothing. Then it is whole again, as from a
    /// backup.
    fn corrupt(&mut self, at: f64, cut: bool) -> Result<()> {
        let Some(good) = self.subject.journal_bytes() else { return Ok(()) };
        let mut bad = good.clone();
        let at = (at * bad.len() as f64) as usize;
        if cut {
            bad.truncate(at);
        } else {
            bad[at] ^= 0x55;
        }
        self.subject.write_journal(&bad)?;
        let before = self.place.settings()?;
        for words in [vec!["restore"], apply_words(&self.place.interface, "align", "0").to_vec()] {
            let output = self.subject.run(&words, None)?;
            if output.status.success() {
                let text = format!("{words:?} worked with a damaged journal");
                self.faults.push(Fault { foreign: false, text });
            }
        }
        let after = self.place.settings()?;
        self.compare(&before, &after, "it changed though the journal is damaged");
        self.subject.write_journal(&good)
    }

    /// Everything is put back; what is not as it has to be is a fault.
    fn end(&mut self) -> Result<()> {
        if let Some(cpu) = self.offline.take() {
            self.by_driver(|_| Place::set_online(cpu, true))?;
        }
        let output = self.subject.run(&["restore"], None)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() || self.subject.journal_bytes().is_some() {
            let text = format!("the last restore left something: {}", said.trim());
            self.faults.push(Fault { foreign: false, text });
        }
        let now = self.place.settings()?;
        let channels = self.place.channels()?;
        for (name, due) in &self.due {
            let value = now.get(name);
            let gone = value.is_none() && !Place::exists(name, channels);
            if gone || value.is_some_and(|value| due.values.contains(value)) {
                continue;
            }
            let is = value.map_or("gone", String::as_str);
            let text = format!("{name} is {is}, not {:?}", due.values);
            self.faults.push(Fault { foreign: due.foreign, text });
        }
        Ok(())
    }

    fn compare(&mut self, before: &Settings, after: &Settings, what: &str) {
        for (name, was) in before.iter().filter(|(name, was)| after.get(*name) != Some(was)) {
            let is = after.get(name).map_or("gone", String::as_str);
            let text = format!("{name}: {is} instead of {was}: {what}");
            self.faults.push(Fault { foreign: self.due[name].foreign, text });
        }
    }
}

impl Due {
    fn is(value: String) -> Self {
        Self { values: BTreeSet::from([value]), foreign: false }
    }

    fn of_somebody(value: String) -> Self {
        Self { values: BTreeSet::from([value]), foreign: true }
    }
}

fn apply_words<'a>(interface: &'a str, mode: &'a str, cpus: &'a str) -> [&'a str; 6] {
    ["apply", interface, "--mode", mode, "--cpus", cpus]
}

/// The events of a trial.
pub(super) fn draw(kind: Kind, rng: &mut fastrand::Rng) -> Vec<Event> {
    (0..rng.usize(2..7)).map(|_| Event::draw(kind, rng)).collect()
}
