//! The mode `align`: as many queues as NIC-local cores, the interrupts of each on its core, each
//! CPU sending by the queue nearest to it. The other modes stand on it.

use std::collections::BTreeSet;

use steer_topology::{CpuSet, Direction, Machine, QueueRef};

use super::serving::Serving;
use super::{Draft, Irqbalance};
use crate::change::Change;
use crate::ethtool::rss::{blocks, even};
use crate::queues::Queues;
use crate::setting::{Value, What, name};

impl Draft<'_> {
    /// Channels, RSS, interrupts and XPS.
    ///
    /// # Errors
    /// Another program moves the interrupts and cannot be asked to leave them.
    pub(super) fn align(&mut self, machine: &Machine, serving: &Serving) -> Result<(), String> {
        if let Some((now, wanted)) = serving.channels {
            let why = format!("one for each of {} cores that serve it", serving.cores.len());
            let (old, new) = (Value::Channels(now), Value::Channels(wanted));
            self.changes.push(Change::new(self.state, What::Channels, Some(old), new, why));
        }
        self.spread_hash(serving);
        self.place_irqs(serving)?;
        self.place_threads(serving);
        self.place_xps(machine, serving);
        Ok(())
    }

    /// RSS over all queues in use, evenly; but not over those that only some ports have.
    fn spread_hash(&mut self, serving: &Serving) {
        let Some(table) = &self.state.rss_table else { return };
        let queues = serving.cpus.len() as u32;
        let (wanted, why) = match serving.hashed.len() == queues.min(Queues::MAX) {
            true => (even(table.len(), queues), "every queue in use gets its share of flows"),
            false => (blocks(table.len(), serving.hashed), "the other queues are kept for ports"),
        };
        let used = |table: &[u32]| table.iter().copied().collect::<BTreeSet<u32>>();
        if self.changes_channels() || used(table) != used(&wanted) {
            let (old, new) = (Value::Table(table.clone()), Value::Table(wanted));
            self.changes.push(Change::new(self.state, What::RssTable, Some(old), new, why));
        }
    }

    /// The interrupts of queue n on the n-th serving CPU.
    fn place_irqs(&mut self, serving: &Serving) -> Result<(), String> {
        let mut placed = Vec::new();
        for (index, &cpu) in serving.cpus.iter().enumerate() {
            for direction in self.directions() {
                let queue = QueueRef { direction, index: index as u32 };
                let irq = self.state.irqs.iter().find(|irq| irq.queue == Some(queue));
                if irq.is_some_and(|irq| irq.fixed) {
                    self.notes.push(format!("the interrupt of {} cannot be moved", name(&queue)));
                    continue;
                }
                let new: CpuSet = [cpu].into_iter().collect();
                let stays = irq.is_some_and(|irq| irq.asked == new);
                if stays && !self.changes_channels() {
                    continue;
                }
                placed.push((queue, irq.map(|irq| (irq.number, irq.asked.clone())), new));
            }
        }
        if self.state.irqs.iter().all(|irq| irq.queue.is_none()) && !serving.cpus.is_empty() {
            self.notes.push("no interrupt is known to serve a queue of it: none is moved".into());
        }
        if !placed.is_empty() && self.host.irqbalance == Irqbalance::Deaf {
            return Err("irqbalance runs and does not answer, so it would move the interrupts \
                        again; run this as root, or stop it (systemctl stop irqbalance)"
                .into());
        }
        for (queue, irq, new) in placed {
            if let (Irqbalance::Banned(banned), Some((number, _))) = (&self.host.irqbalance, &irq)
                && !banned.contains(number)
            {
                let (what, why) = (What::IrqbalanceBan(queue), "irqbalance would move it again");
                let (old, new) = (Some(Value::Switch(false)), Value::Switch(true));
                self.changes.push(Change::new(self.state, what, old, new, why));
            }
            let old = irq.map(|(_, asked)| Value::Cpus(asked));
            let why = "a core near the NIC, of its own";
            let what = What::IrqAffinity(queue);
            self.changes.push(Change::new(self.state, what, old, Value::Cpus(new), why));
        }
        Ok(())
    }

    /// The kernel thread of queue n, if its NAPI is threaded, on the n-th serving CPU.
    fn place_threads(&mut self, serving: &Serving) {
        for rx in &self.state.rx {
            let now = rx.napi.as_ref().and_then(|napi| napi.thread_cpus.as_ref());
            let (Some(now), Some(&cpu)) = (now, serving.cpus.get(rx.index as usize)) else {
                continue;
            };
            let new: CpuSet = [cpu].into_iter().collect();
            if *now != new || self.changes_channels() {
                let (what, why) = (What::NapiThread(rx.index), "beside its interrupt");
                let (old, new) = (Some(Value::Cpus(now.clone())), Value::Cpus(new));
                self.changes.push(Change::new(self.state, what, old, new, why));
            }
        }
    }

    /// The kinds of interrupts that the device's queues have, as the first queue shows.
    fn directions(&self) -> BTreeSet<Direction> {
        let queues = self.state.irqs.iter().filter_map(|irq| irq.queue);
        queues.filter(|queue| queue.index == 0).map(|queue| queue.direction).collect()
    }

    /// Every online CPU sends by one queue: a serving CPU by its own, the others by the nearest.
    fn place_xps(&mut self, machine: &Machine, serving: &Serving) {
        // A single transmit queue has no XPS to set.
        let has_xps = self.state.tx.iter().any(|queue| queue.xps.is_some());
        let grows = self.changes_channels() && self.state.tx.len() == 1;
        if serving.cpus.len() < 2 || !(has_xps || grows) {
            return;
        }
        for (index, cpus) in senders(machine, &serving.cpus).into_iter().enumerate() {
            let index = index as u32;
            let now = self.state.tx.iter().find(|queue| queue.index == index);
            let now = now.and_then(|queue| queue.xps.clone());
            if now.as_ref() != Some(&cpus) || self.changes_channels() {
                let why = "CPUs send by the queue nearest to them";
                let old = now.map(Value::Cpus);
                self.changes.push(Change::new(
                    self.state,
                    What::Xps(index),
                    old,
                    Value::Cpus(cpus),
                    why,
                ));
            }
        }
    }
}

/// For each queue, given its CPU, the CPUs that send by it.
fn senders(machine: &Machine, serving: &[u32]) -> Vec<CpuSet> {
    let mut senders = vec![CpuSet::new(); serving.len()];
    let online = machine.online_cpus();
    let own = |cpu: &u32| serving.contains(cpu);
    let (own, others): (Vec<u32>, Vec<u32>) = online.iter().partition(own);
    for cpu in own.into_iter().chain(others) {
        let nearest = (0..serving.len())
            .min_by_key(|&queue| (distance(machine, cpu, serving[queue]), senders[queue].len()));
        if let Some(queue) = nearest {
            senders[queue].insert(cpu);
        }
    }
    senders
}

/// How far two CPUs are apart: the same, siblings, one cache, one node, more.
fn distance(machine: &Machine, cpu: u32, other: u32) -> u32 {
    let share = |of: &dyn Fn(u32) -> Option<u32>| of(cpu).is_some() && of(cpu) == of(other);
    let id = |cpu| machine.cpu(cpu);
    match () {
        () if cpu == other => 0,
        () if share(&|cpu| id(cpu).map(|cpu| cpu.core as u32)) => 1,
        () if share(&|cpu| id(cpu).and_then(|cpu| cpu.llc).map(|llc| llc as u32)) => 2,
        () if share(&|cpu| id(cpu).and_then(|cpu| cpu.node)) => 3,
        () => 4,
    }
}
