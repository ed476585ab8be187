//! The modes `rfs` and `arfs`: packets follow the thread that reads them, steered by the kernel or
//! by the NIC.

use steer_topology::{CpuSet, Machine};

use super::Draft;
use super::serving::Serving;
use crate::change::Change;
use crate::setting::{Value, What};

/// The host's table has room for at least this many flows, as the kernel's scaling.rst suggests for
/// a server.
const FLOWS: u64 = 32_768;
/// Further entries for each CPU.
const FLOWS_PER_CPU: u64 = 4096;

impl Draft<'_> {
    /// Packets stay on the CPU that their queue interrupts.
    pub(super) fn no_rps(&mut self, serving: &Serving) {
        self.rps(serving, &CpuSet::new(), "packets stay on the CPU that took the interrupt");
    }

    /// RFS, sized for the host. Packets of flows without an entry are spread over the serving cores,
    /// unless RSS does that already.
    pub(super) fn rfs(&mut self, machine: &Machine, serving: &Serving) -> Result<(), String> {
        let queues = serving.cpus.len();
        if queues < serving.cores.len() {
            let cores: CpuSet = serving.cores.iter().copied().collect();
            let why = format!("{queues} queues cannot use {} cores", cores.len());
            self.rps(serving, &cores, &why);
        } else {
            self.no_rps(serving);
        }
        self.follow(machine, serving)
    }

    /// Accelerated RFS: the kernel gives the NIC a rule for each flow. Whether the NIC takes any
    /// shows only under traffic.
    pub(super) fn arfs(&mut self, machine: &Machine, serving: &Serving) -> Result<(), String> {
        self.take_ntuple("the NIC takes a rule for each flow")
            .map_err(|why| format!("{why}; the mode rfs does the same in software"))?;
        self.no_rps(serving);
        self.follow(machine, serving)
    }

    /// Switches ntuple filters on.
    ///
    /// # Errors
    /// The device cannot have any.
    pub(super) fn take_ntuple(&mut self, why: &str) -> Result<(), String> {
        match self.state.ntuple {
            None => return Err("its driver knows no ntuple filters".into()),
            Some(it) if it.fixed && !it.on => {
                return Err("its driver takes no ntuple filters (fixed off)".into());
            }
            Some(it) if !it.on => {
                let (old, new) = (Some(Value::Switch(false)), Value::Switch(true));
                self.changes.push(Change::new(self.state, What::Ntuple, old, new, why));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// The tables of the host and of each receive queue.
    fn follow(&mut self, machine: &Machine, serving: &Serving) -> Result<(), String> {
        let Some(now) = self.host.sock_flows else {
            return Err("the RFS table belongs to the host and cannot be seen from this \
                        network namespace"
                .into());
        };
        let wanted = FLOWS.max((machine.cpus.len() as u64 * FLOWS_PER_CPU).next_power_of_two());
        // Other programs may need a larger table, so it never shrinks.
        let flows = now.max(wanted);
        if now < flows {
            let why = format!("room for the flows of {} CPUs", machine.cpus.len());
            let (old, new) = (Some(Value::Number(now)), Value::Number(flows));
            self.changes.push(Change::new(self.state, What::SockFlows, old, new, why));
        }
        let queues = serving.cpus.len().max(1) as u64;
        let each = wanted.div_ceil(queues).next_power_of_two();
        for index in 0..serving.cpus.len() as u32 {
            let rx = self.state.rx.iter().find(|rx| rx.index == index);
            let old = rx.and_then(|rx| rx.rfs_flows);
            if old != Some(each) || self.changes_channels() {
                let (old, new) = (old.map(Value::Number), Value::Number(each));
                let why = "its share of the host's flows";
                let what = What::RpsFlows(index);
                self.changes.push(Change::new(self.state, what, old, new, why));
            }
        }
        Ok(())
    }

    fn rps(&mut self, serving: &Serving, cpus: &CpuSet, why: &str) {
        for index in 0..serving.cpus.len() as u32 {
            let rx = self.state.rx.iter().find(|rx| rx.index == index);
            let old = rx.and_then(|rx| rx.rps.clone());
            // A queue to come has no RPS.
            let now = old.clone().unwrap_or_default();
            if now != *cpus {
                let (what, new) = (What::Rps(index), Value::Cpus(cpus.clone()));
                self.changes.push(Change::new(self.state, what, old.map(Value::Cpus), new, why));
            }
        }
    }
}
