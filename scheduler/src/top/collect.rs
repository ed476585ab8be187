//! Takes samples: the observer's counters, the running scheduler's status, and kernel files, each
//! against the sample before.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use steer_bpf::Observer;
use steer_bpf::intf::{
    observed_cpu, traffic_class_CLASS_LONG as LONG, traffic_class_CLASS_NONE as NONE,
    traffic_class_CLASS_SHORT as SHORT,
};
use steer_policy::{CgroupTree, Effective, Settings};
use steer_top::{CpuUse, NicUse, QueueUse, Sample};
use steer_topology::{CpuSet, Machine, irqs_of};

use super::cgroups::Cgroups;
use super::rates::{Rates, interrupts};
use super::threads::Threads;
use crate::policy::load;
use crate::status::Status;
use crate::{cgroups, preflight, status};

/// Takes samples.
pub(super) struct Collector<'a, 'obj> {
    observer: &'a Observer<'obj>,
    machine: Machine,
    online: CpuSet,
    before: Vec<observed_cpu>,
    taken: Instant,
    rates: Rates,
    threads: Threads,
    cgroups: Option<Cgroups>,
}

impl<'a, 'obj> Collector<'a, 'obj> {
    /// Starts the first interval.
    pub(super) fn new(observer: &'a Observer<'obj>, machine: Machine) -> Result<Self> {
        let online = machine.online_cpus();
        let mut collector = Self {
            before: observer.read(online.iter())?,
            taken: Instant::now(),
            rates: Rates::default(),
            threads: Threads::default(),
            cgroups: cgroups::mount_point().ok().map(Cgroups::new),
            observer,
            machine,
            online,
        };
        // every rate needs a reading before its first
        collector.sample()?;
        Ok(collector)
    }

    /// The time since the sample before.
    pub(super) fn sample(&mut self) -> Result<Sample> {
        let now = self.observer.read(self.online.iter())?;
        let seconds = self.taken.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        self.taken = Instant::now();
        let scheduler = preflight::in_force().unwrap_or_else(|| "default".into());
        let steered = scheduler.starts_with("scx_steer");
        let status = if steered { status::ask().ok() } else { None };
        let policy = status.as_ref().and_then(policy);
        let threads = self.threads.read(self.observer, steered, policy.as_ref())?;
        let reserved: CpuSet =
            status.as_ref().and_then(|it| it.reserved_cpus.parse().ok()).unwrap_or_default();
        let cpus = self.online.iter().map(|cpu| {
            let used = used(&self.before, &now, cpu, seconds);
            let place = self.machine.cpu(cpu);
            CpuUse {
                node: place.and_then(|it| it.node),
                llc: place.and_then(|it| it.llc).and_then(|llc| u32::try_from(llc).ok()),
                claimed: self.threads.sent_to(cpu),
                reserved: reserved.contains(cpu),
                ..used
            }
        });
        let cpus = cpus.collect();
        self.before = now;
        let nics = self.nics(status.as_ref(), seconds)?;
        let cgroups = match &mut self.cgroups {
            Some(cgroups) => cgroups.read(seconds, policy.as_ref()),
            None => Vec::new(),
        };
        Ok(Sample {
            version: 1,
            seconds,
            scheduler,
            decisions: status.is_some(),
            nics,
            threads,
            cpus,
            cgroups,
        })
    }

    fn nics(&mut self, status: Option<&Status>, seconds: f64) -> Result<Vec<NicUse>> {
        let counts = interrupts();
        let mut nics = Vec::new();
        for nic in &self.machine.nics {
            let mut queues = Vec::new();
            // interrupts move, so they are read anew
            for irq in irqs_of(&nic.name)?.into_iter().filter(|irq| irq.queue.is_some()) {
                let cpus = irq.effective.unwrap_or(irq.affinity);
                let count = counts.get(&irq.number).copied().unwrap_or(0);
                queues.push(QueueUse {
                    interrupts_per_s: self.rates.of(format!("irq {}", irq.number), count, seconds),
                    beside: self.threads.beside(&cpus),
                    cpus: cpus.to_string(),
                    irq: irq.number,
                    name: irq.name,
                });
            }
            let mut rate = |way: &str| {
                let path = format!("/sys/class/net/{}/statistics/{way}_bytes", nic.name);
                let bytes = std::fs::read_to_string(&path).ok();
                let bytes = bytes.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
                self.rates.of(path, bytes, seconds)
            };
            nics.push(NicUse {
                received_per_s: rate("rx"),
                sent_per_s: rate("tx"),
                name: nic.name.clone(),
                node: nic.node,
                local_cpus: nic.local_cpus.as_ref().map(CpuSet::to_string),
                steering: status.and_then(|status| status.steering_of(&nic.name)),
                queues,
            });
        }
        Ok(nics)
    }
}

/// The policy in force, from the files that the running instance names.
fn policy(status: &Status) -> Option<Effective> {
    let mut files = steer_policy::Files::default();
    for path in &status.policy.files {
        files.add(&PathBuf::from(path), steer_policy::Trust::Required);
    }
    load::effective(&files, Settings::default(), &CgroupTree::default()).ok()
}

/// What a CPU did between two readings.
fn used(before: &[observed_cpu], now: &[observed_cpu], cpu: u32, seconds: f64) -> CpuUse {
    let (Some(before), Some(now)) = (before.get(cpu as usize), now.get(cpu as usize)) else {
        return CpuUse { cpu, ..CpuUse::default() };
    };
    let share =
        |before: u64, now: u64| (now.saturating_sub(before) as f64 / 1e9 / seconds).min(1.0);
    let ran = |class: u32| share(before.run_ns[class as usize], now.run_ns[class as usize]);
    CpuUse {
        cpu,
        long: ran(LONG),
        short: ran(SHORT),
        other: ran(NONE),
        softirq: share(before.softirq_ns + before.irq_ns, now.softirq_ns + now.irq_ns),
        ..CpuUse::default()
    }
}
