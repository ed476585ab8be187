//! Trials: whatever happens between the first write and the last restore, nothing of the host's is
//! lost and nothing of another program's is overwritten.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::model::{MAX, Model, is_nothing, queue_of};
use super::*;
use crate::change::Change;
use crate::ethtool::rss::even;
use crate::journal::{Entry, Found};
use crate::plan::tests::machine;
use crate::plan::{Mode, Options, plan};
use crate::rule::Match;
use steer_policy::{Pool, Port, PortPool, Protocol};

/// What happens in a trial.
#[derive(Clone, Debug)]
enum Event {
    /// A mode is applied, on this many cores at most; at a step something may happen.
    Apply(Mode, usize, Option<(Stop, u32)>),
    /// All is put back; at a step something may happen.
    Restore(Option<(Stop, u32)>),
    /// Another program sets one of the settings.
    Foreign(prop::sample::Index, u64),
    /// Another program sends the packets to one of our ports to the first queue.
    ForeignRule,
    /// Another program changes the number of channels.
    ForeignChannels(u32),
    /// The NIC leaves and comes back.
    Replace,
    /// The power fails.
    Reboot,
    /// A CPU goes offline and comes back.
    Hotplug(u32),
}

fn event() -> impl Strategy<Value = Event> {
    let mode =
        prop::sample::select(vec![Mode::Align, Mode::Rfs, Mode::Arfs, Mode::Rules, Mode::BusyPoll]);
    let stop = prop::option::of((prop::sample::select(vec![Stop::Fail, Stop::Die]), 1u32..60));
    prop_oneof![
        6 => (mode, 1..5usize, stop.clone()).prop_map(|(mode, cores, stop)| Event::Apply(mode, cores, stop)),
        3 => stop.prop_map(Event::Restore),
        3 => (any::<prop::sample::Index>(), 1..1000u64).prop_map(|(which, n)| Event::Foreign(which, n)),
        1 => Just(Event::ForeignRule),
        1 => (1..=MAX).prop_map(Event::ForeignChannels),
        1 => Just(Event::Replace),
        1 => Just(Event::Reboot),
        1 => prop::sample::select(vec![8, 10, 3]).prop_map(Event::Hotplug),
    ]
}

/// Ports of an exclusive pool near the NIC, of a pool that overlaps it, and of one far from it.
fn ports() -> Vec<PortPool> {
    let pool = |cpus: &str| Pool::Cpus(cpus.parse().unwrap());
    let port = |protocol, number| Port { protocol, number };
    vec![
        PortPool { port: port(Protocol::Tcp, 443), pool: pool("8-11"), exclusive: true },
        PortPool { port: port(Protocol::Udp, 443), pool: pool("10-13"), exclusive: false },
        PortPool { port: port(Protocol::Tcp, 80), pool: Pool::Remote, exclusive: false },
    ]
}

/// A trial under way.
struct Trial {
    model: Model,
    folder: tempfile::TempDir,
    boots: u32,
    queues: u32,
    /// What each setting has to be when all is put back.
    must: BTreeMap<What, Value>,
    /// What some settings may be instead: a queue that we had taken out of use came back by another
    /// program's channels. Nobody can tell whether the driver's values are that program's choice.
    may: BTreeMap<What, Value>,
}

impl Trial {
    fn new(queues: u32) -> Trial {
        let model = Model::new(queues);
        let must = model.cells();
        // in memory: a thousand trials synchronise the journal many thousand times
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        Trial { model, folder, boots: 0, queues, must, may: BTreeMap::new() }
    }

    fn store(&self) -> Store {
        Store::of_boot(self.folder.path(), &format!("boot-{}", self.boots))
    }

    fn journal(&self) -> Journal {
        match self.store().load().unwrap() {
            Found::Journal(journal) => journal,
            _ => Journal::default(),
        }
    }

    fn knows(&self, what: What) -> bool {
        self.journal().entry(&self.model.setting(what)).is_some()
    }

    fn apply(&mut self, mode: Mode, cores: usize, stop: Option<(Stop, u32)>) {
        let options = Options { cores: Some(cores), ports: ports(), ..Options::default() };
        let (state, host) = (self.model.state(), self.model.host());
        // pools that take every queue are refused
        let Ok(planned) = plan(&machine(), &state, &host, mode, &options) else { return };
        let changes = planned.changes;
        let before = self.model.cells();
        let mut hook = |step| stop.filter(|(_, at)| *at == step).map_or(Stop::Go, |(stop, _)| stop);
        let result = apply(&self.model, &self.store(), &changes, &[], &mut Steps::with(&mut hook));
        let now = self.model.cells();
        match result {
            Ok(_) => self.check_applied(&changes, &before),
            Err(Error::Stopped(_)) => {}
            Err(Error::Interrupted) => self.restore(None),
            Err(Error::RolledBack { .. } | Error::Foreign { .. }) => assert_eq!(now, before),
            // the kernel refused a step, and the stop came on the way back
            Err(Error::RollbackFailed { .. }) if stop.is_some() => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// What was planned is in force, and nothing else changed but what left with a queue.
    fn check_applied(&self, changes: &[Change], before: &BTreeMap<What, Value>) {
        let now = self.model.cells();
        for change in changes {
            let now = self.model.get(&change.setting).unwrap();
            assert_eq!(now.as_ref(), Some(&change.new), "{}", change.setting);
        }
        let planned = |what: &What| changes.iter().any(|change| change.setting.what == *what);
        for (what, value) in before.iter().filter(|(what, _)| !planned(what)) {
            assert!(now.get(what).is_none_or(|now| now == value), "{what}: {value} → {now:?}");
        }
    }

    fn restore(&mut self, stop: Option<(Stop, u32)>) {
        let mut hook = |step| stop.filter(|(_, at)| *at == step).map_or(Stop::Go, |(stop, _)| stop);
        let mut steps = Steps::with(&mut hook);
        match restore(&self.model, &self.store(), None, false, &mut steps) {
            Ok(restored) if stop.is_none() => assert_eq!(restored.failures, []),
            Ok(_) | Err(Error::Stopped(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// What a setting must be once another program has set it to `value`. Where that is a value of
    /// ours, nobody can tell that it was set, and it goes back.
    fn foreign(&mut self, what: What, value: Value) {
        self.may.remove(&what);
        let journal = self.journal();
        let setting = self.model.setting(what);
        let ours = journal.entry(&setting).filter(|entry| entry.ours.contains(&value));
        let original = ours.and_then(|entry| entry.original.clone());
        self.must.insert(what, original.unwrap_or(value));
    }

    /// What has to be there at the end. A queue that only our channels had brought into use is gone
    /// again, also if another program has set something of it.
    fn must(&self) -> BTreeMap<What, Value> {
        let Value::Channels(channels) = &self.must[&What::Channels] else { panic!("other") };
        let there = |what: &What| queue_of(*what).is_none_or(|queue| queue < channels.combined);
        let there = |what: &What, value: &Value| there(what) && !is_nothing(*what, value);
        let cells = self.model.cells();
        let mut must = self.must.clone();
        must.extend(self.may.clone().into_iter().filter(|(what, it)| cells.get(what) == Some(it)));
        // an even table of the driver's does not outlive the queues it names
        let Some(Value::Table(table)) = must.get_mut(&What::RssTable) else { panic!("other") };
        if table.iter().any(|queue| *queue >= channels.combined) {
            *table = even(table.len(), channels.combined);
        }
        must.into_iter().filter(|(what, value)| there(what, value)).collect()
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Apply(mode, cores, stop) => self.apply(mode, cores, stop),
            Event::Restore(stop) => self.restore(stop),
            // After a kill amid a change of channels nobody can tell whose a queue's settings are.
            Event::Foreign(..)
            | Event::ForeignRule
            | Event::ForeignChannels(_)
            | Event::Hotplug(_)
                if !self.journal().unsettled.is_empty() => {}
            Event::Foreign(which, number) => {
                let cells = self.model.cells();
                let writable: Vec<&What> = cells
                    .keys()
                    .filter(|it| !matches!(it, What::Channels | What::RssTable))
                    .collect();
                let what = **which.get(&writable);
                let value = match cells[&what] {
                    Value::Cpus(_) => Value::Cpus([number as u32 % 16].into_iter().collect()),
                    // the kernel keeps a context that a rule uses
                    Value::Switch(_) if self.model.is_used(what) => return,
                    Value::Switch(on) => Value::Switch(!on),
                    Value::Queues(_) => Value::Queues((number % 2..1).map(|_| 0).collect()),
                    _ => Value::Number(number),
                };
                self.model.write(what, value.clone());
                self.foreign(what, value);
            }
            Event::ForeignRule => {
                let what = What::Rule(Match { port: ports()[0].port, v6: false });
                let value = Value::Queues([0].into_iter().collect());
                self.model.write(what, value.clone());
                self.foreign(what, value);
            }
            // A restore that failed half-way left a table, which may name queues that go now: the
            // kernel does not take it back then, and restore says so.
            Event::ForeignChannels(_)
                if self.knows(What::RssTable) && !self.knows(What::Channels) => {}
            // To set what is set already is nothing.
            Event::ForeignChannels(queues)
                if self.model.state().rx.len() == queues as usize || !self.model.allows(queues) => {
            }
            Event::ForeignChannels(queues) => {
                let (before, must) = (self.model.cells(), self.must.clone());
                self.model.set_channels(queues);
                let now = self.model.cells();
                self.foreign(What::Channels, now[&What::Channels].clone());
                // Queues that come back when the channels go back have what another program had set,
                // else what they had at first.
                self.must.retain(|what, _| !what.of_a_queue());
                let journal = self.journal();
                let here = |entry: &&Entry| entry.setting == self.model.setting(entry.setting.what);
                for entry in journal.entries.iter().filter(here) {
                    let what = entry.setting.what;
                    let value = entry.foreign.clone().or(entry.original.clone());
                    value.map(|value| self.must.entry(what).or_insert(value));
                }
                for (what, value) in now.into_iter().filter(|(what, _)| what.of_a_queue()) {
                    let entry = journal.entry(&self.model.setting(what));
                    let ours = entry.is_some_and(|entry| entry.ours.contains(&value));
                    match must.get(&what) {
                        // neither by the channels nor by us, but by a CPU that went and came
                        Some(must) if !ours && before.get(&what) == Some(&value) => {
                            self.must.insert(what, must.clone());
                        }
                        _ => self.foreign(what, value),
                    }
                    let original = entry.and_then(|entry| entry.original.clone());
                    self.may.extend(
                        original.filter(|_| !before.contains_key(&what)).map(|it| (what, it)),
                    );
                }
            }
            Event::Replace => {
                self.model.replace(self.queues);
                let flows = self.must[&What::SockFlows].clone();
                self.must = self.model.cells();
                self.may.clear();
                self.must.insert(What::SockFlows, flows);
            }
            Event::Hotplug(cpu) => {
                let before = self.model.cells();
                self.model.hotplug(cpu);
                for (what, value) in self.model.cells() {
                    // what is ours goes back all the same, if it was anything before
                    let known = self.journal().entry(&self.model.setting(what)).is_some_and(|it| {
                        it.original.as_ref().is_some_and(|original| {
                            it.ours.contains(&before[&what]) || *original == before[&what]
                        })
                    });
                    if value != before[&what] && !known {
                        self.must.insert(what, value);
                    }
                }
            }
            Event::Reboot => {
                self.boots += 1;
                self.model.boot(self.queues);
                self.must = self.model.cells();
                self.may.clear();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn nothing_is_lost_and_nothing_overwritten(
        queues in 1..=MAX,
        events in proptest::collection::vec(event(), 1..8),
    ) {
        let mut trial = Trial::new(queues);
        for event in events {
            trial.happen(event);
        }
        trial.restore(None);
        prop_assert_eq!(trial.model.cells(), trial.must());
        prop_assert_eq!(trial.store().load().unwrap(), Found::Nothing);
    }
}
