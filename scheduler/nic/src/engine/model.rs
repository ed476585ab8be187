//! A host with one NIC that does what drivers do: a change of channels sets interrupts, XPS and the
//! RSS table anew, and what a queue that leaves was set to is gone.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;

use steer_topology::CpuSet;

use crate::births::Births;
use crate::device::{Device, Presence};
use crate::error::Fault;
use crate::ethtool::rss::even;
use crate::kernel::Kernel;
use crate::plan::tests::{nic, pair};
use crate::plan::{HostState, Irqbalance};
use crate::queues::Queues;
use crate::rule::PortRule;
use crate::setting::{Channels, Setting, Value, What};
use crate::state::NicState;

pub(super) const MAX: u32 = 8;
const CPUS: u32 = 16;

pub(super) struct Model {
    cells: RefCell<BTreeMap<What, Value>>,
    births: RefCell<Births>,
    /// Grows as the device is replaced.
    ifindex: Cell<u32>,
}

impl Model {
    pub(super) fn new(queues: u32) -> Model {
        let model =
            Model { cells: RefCell::default(), births: RefCell::default(), ifindex: Cell::new(2) };
        model.boot(queues);
        model
    }

    /// Everything as it is after boot.
    pub(super) fn boot(&self, queues: u32) {
        self.cells.borrow_mut().clear();
        *self.births.borrow_mut() = (0..CPUS).map(|cpu| (cpu, 1)).collect();
        self.cells.borrow_mut().insert(What::SockFlows, Value::Number(0));
        self.plug(queues);
    }

    /// The device comes, after one before it has left.
    pub(super) fn replace(&self, queues: u32) {
        self.ifindex.set(self.ifindex.get() + 1);
        self.cells.borrow_mut().retain(|what, _| *what == What::SockFlows);
        self.plug(queues);
    }

    fn plug(&self, queues: u32) {
        self.cells.borrow_mut().insert(What::Ntuple, Value::Switch(false));
        self.set_channels(queues);
    }

    /// As drivers do it.
    pub(super) fn set_channels(&self, queues: u32) {
        let mut cells = self.cells.borrow_mut();
        let channels = Channels { combined: queues, other: 1, ..Channels::default() };
        cells.insert(What::Channels, Value::Channels(channels));
        cells.retain(|what, _| queue_of(*what).is_none_or(|queue| queue < queues));
        cells.insert(What::RssTable, Value::Table(even(16, queues)));
        let stripe =
            |queue: u32| -> CpuSet { (0..CPUS).filter(|cpu| cpu % queues == queue).collect() };
        for queue in 0..queues {
            cells.insert(What::IrqAffinity(pair(queue)), Value::Cpus(stripe(queue)));
            cells.insert(What::Xps(queue), Value::Cpus(stripe(queue)));
            cells.entry(What::Rps(queue)).or_insert(Value::Cpus(CpuSet::new()));
            for what in [What::RpsFlows, What::NapiDefer, What::NapiFlush, What::NapiSuspend] {
                cells.entry(what(queue)).or_insert(Value::Number(0));
            }
            let all = Value::Cpus((0..CPUS).collect());
            cells.entry(What::NapiThread(queue)).or_insert(all);
        }
    }

    /// A CPU goes and comes: interrupts that could go nowhere else go everywhere else from then on.
    pub(super) fn hotplug(&self, cpu: u32) {
        self.births.borrow_mut().entry(cpu).and_modify(|born| *born += 1);
        let gone: CpuSet = [cpu].into_iter().collect();
        let others: CpuSet = (0..CPUS).filter(|it| *it != cpu).collect();
        for (what, value) in self.cells.borrow_mut().iter_mut() {
            if matches!(what, What::IrqAffinity(_)) && *value == Value::Cpus(gone.clone()) {
                *value = Value::Cpus(others.clone());
            }
            if matches!(what, What::NapiThread(_)) && *value == Value::Cpus(gone.clone()) {
                *value = Value::Cpus((0..CPUS).collect());
            }
        }
    }

    pub(super) fn device(&self) -> Device {
        Device { ifindex: self.ifindex.get(), ..nic(1, 1).device }
    }

    pub(super) fn setting(&self, what: What) -> Setting {
        Setting { device: (what != What::SockFlows).then(|| self.device()), what }
    }

    pub(super) fn cells(&self) -> BTreeMap<What, Value> {
        self.cells.borrow().clone()
    }

    /// Another program writes. What is off leaves no trace.
    pub(super) fn write(&self, what: What, value: Value) {
        match is_nothing(what, &value) {
            true => self.cells.borrow_mut().remove(&what),
            false => self.cells.borrow_mut().insert(what, value),
        };
    }

    /// The queues that rules and further RSS contexts name.
    pub(super) fn named(&self) -> Vec<Queues> {
        let of = |(what, value): (&What, &Value)| match (what, value) {
            (What::RssContext(queues), _) | (_, Value::Queues(queues)) => Some(*queues),
            _ => None,
        };
        self.cells.borrow().iter().filter_map(of).collect()
    }

    /// Whether the kernel lets a device have so few queues.
    pub(super) fn allows(&self, queues: u32) -> bool {
        self.named().iter().all(|named| named.iter().all(|queue| queue < queues))
    }

    /// Whether a rule uses an RSS context.
    pub(super) fn is_used(&self, what: What) -> bool {
        let What::RssContext(queues) = what else { return false };
        self.cells.borrow().values().any(|value| *value == Value::Queues(queues))
    }

    pub(super) fn state(&self) -> NicState {
        let cells = self.cells.borrow();
        let Value::Channels(now) = cells[&What::Channels] else { panic!("of another kind") };
        let mut state = nic(now.combined, MAX);
        state.device = self.device();
        let cpus = |what| match &cells[&what] {
            Value::Cpus(cpus) => cpus.clone(),
            other => panic!("{other:?}"),
        };
        let number = |what| match cells[&what] {
            Value::Number(number) => number,
            ref other => panic!("{other:?}"),
        };
        state
            .irqs
            .iter_mut()
            .for_each(|irq| irq.asked = cpus(What::IrqAffinity(irq.queue.unwrap())));
        state.tx.iter_mut().for_each(|tx| tx.xps = Some(cpus(What::Xps(tx.index))));
        for rx in &mut state.rx {
            rx.rps = Some(cpus(What::Rps(rx.index)));
            rx.rfs_flows = Some(number(What::RpsFlows(rx.index)));
            let napi = rx.napi.as_mut().unwrap();
            let of = |what| u32::try_from(number(what)).ok();
            napi.defer_hard_irqs = of(What::NapiDefer(rx.index));
            napi.gro_flush_timeout = of(What::NapiFlush(rx.index));
            napi.irq_suspend_timeout = of(What::NapiSuspend(rx.index));
            napi.thread = Some(100 + rx.index);
            napi.thread_cpus = Some(cpus(What::NapiThread(rx.index)));
        }
        let Value::Table(table) = &cells[&What::RssTable] else { panic!("of another kind") };
        state.rss_table = Some(table.clone());
        state.rss_contexts = Some(Vec::new());
        for (what, value) in cells.iter() {
            match (what, value) {
                (What::RssContext(queues), _) => {
                    state.rss_contexts.get_or_insert_default().push(*queues);
                }
                (What::Rule(packets), Value::Queues(queues)) => {
                    let (packets, queues) = (*packets, Some(*queues));
                    state.port_rules.push(PortRule { packets, queues });
                }
                _ => {}
            }
        }
        state.ntuple.as_mut().unwrap().on = cells[&What::Ntuple] == Value::Switch(true);
        state
    }

    pub(super) fn host(&self) -> HostState {
        let Value::Number(flows) = self.cells.borrow()[&What::SockFlows] else { panic!("other") };
        HostState { sock_flows: Some(flows), irqbalance: Irqbalance::Absent }
    }

    fn is_here(&self, setting: &Setting) -> bool {
        setting.device.as_ref().is_none_or(|device| *device == self.device())
    }
}

impl Kernel for Model {
    fn get(&self, setting: &Setting) -> Result<Option<Value>, Fault> {
        if !self.is_here(setting) {
            return Ok(None);
        }
        Ok(self.cells.borrow().get(&setting.what).cloned().or(match setting.what {
            What::RssContext(_) => Some(Value::Switch(false)),
            What::Rule(_) => Some(Value::Queues(Queues::default())),
            _ => None,
        }))
    }

    fn set(&self, setting: &Setting, value: &Value) -> Result<(), Fault> {
        let errno =
            |errno| Fault::new(format!("set {setting}"), io::Error::from_raw_os_error(errno));
        if self.get(setting)?.is_none() {
            return Err(errno(libc::ENODEV));
        }
        let queues = self.state().channels.unwrap().now.combined;
        match value {
            // rules and contexts name queues in use, and a rule names a context that is there
            Value::Queues(named) if named.iter().any(|queue| queue >= queues) => {
                return Err(errno(libc::EINVAL));
            }
            Value::Queues(named)
                if named.len() > 1
                    && !self.cells.borrow().contains_key(&What::RssContext(*named)) =>
            {
                return Err(errno(libc::ENOENT));
            }
            Value::Switch(false) if self.is_used(setting.what) => return Err(errno(libc::EBUSY)),
            Value::Channels(channels) if !self.allows(channels.combined) => {
                return Err(errno(libc::EINVAL));
            }
            // the kernel refuses a table that names queues not in use, and to take queues from one
            Value::Table(table) if table.iter().any(|queue| *queue >= queues) => {
                return Err(errno(libc::EINVAL));
            }
            Value::Channels(channels) => {
                let Value::Table(table) = &self.cells()[&What::RssTable] else { panic!("other") };
                let configured = *table != even(16, queues);
                if configured && table.iter().any(|queue| *queue >= channels.combined) {
                    return Err(errno(libc::EINVAL));
                }
                self.set_channels(channels.combined);
            }
            _ => self.write(setting.what, value.clone()),
        }
        Ok(())
    }

    fn check(&self, _: &Setting) -> Result<(), Fault> {
        Ok(())
    }

    fn presence(&self, device: &Device) -> Presence {
        if *device == self.device() { Presence::Here(device.name.clone()) } else { Presence::Gone }
    }

    fn births(&self) -> Births {
        self.births.borrow().clone()
    }

    fn of_queues(&self, device: &Device) -> Result<Vec<Setting>, Fault> {
        let cells = self.cells.borrow();
        let of_queues = cells.keys().filter(|what| what.of_a_queue() && self.device() == *device);
        Ok(of_queues.map(|what| self.setting(*what)).collect())
    }

    fn is_model(&self) -> bool {
        true
    }
}

/// Whether a device with this value of a setting is as one without the setting.
pub(super) fn is_nothing(what: What, value: &Value) -> bool {
    match what {
        What::RssContext(_) => *value == Value::Switch(false),
        What::Rule(_) => *value == Value::Queues(Queues::default()),
        _ => false,
    }
}

/// The queue a setting belongs to.
pub(super) fn queue_of(what: What) -> Option<u32> {
    match what {
        What::IrqAffinity(queue) | What::IrqbalanceBan(queue) => Some(queue.index),
        What::Xps(queue)
        | What::Rps(queue)
        | What::RpsFlows(queue)
        | What::NapiDefer(queue)
        | What::NapiFlush(queue)
        | What::NapiSuspend(queue)
        | What::NapiThread(queue) => Some(queue),
        _ => None,
    }
}
