//! Follows the host's NICs while the scheduler is in force: NICs come and go.

use anyhow::{Context, Result};
use log::{info, warn};
use steer_bpf::Scheduler;
use steer_policy::Plan;
use steer_topology::{Machine, NetworkDevices};

use crate::translate;

/// The network devices that the scheduler knows.
pub(crate) struct Nics {
    devices: NetworkDevices,
    /// So many CPUs share one queue at most.
    queue_cpus: u32,
    /// Why the last change could not be followed. The log repeats it only when it changes.
    complaint: Option<String>,
}

impl Nics {
    pub(crate) fn new(devices: NetworkDevices, queue_cpus: u32) -> Self {
        Self { devices, queue_cpus, complaint: None }
    }

    /// Tells the scheduler about NICs that came or went. Returns the new plan if there is one, and
    /// reads the machine only in that case. If a change cannot be followed (say, more NICs than
    /// the tables hold), it logs a warning, keeps the old NICs in force and tries again later.
    pub(crate) fn follow(&mut self, scheduler: &mut Scheduler<'_>, plan: &Plan) -> Option<Plan> {
        match self.change(scheduler, plan) {
            Ok(new) => {
                self.complaint = None;
                new
            }
            Err(error) => {
                let complaint = format!("{error:#}");
                if self.complaint.as_ref() != Some(&complaint) {
                    warn!(
                        "a change of the NICs cannot be followed, the old ones stay in force: {complaint}"
                    );
                    self.complaint = Some(complaint);
                }
                None
            }
        }
    }

    fn change(&mut self, scheduler: &mut Scheduler<'_>, plan: &Plan) -> Result<Option<Plan>> {
        let devices = NetworkDevices::now().context("reading the network devices")?;
        if devices == self.devices {
            return Ok(None);
        }
        let new = if devices.nics().eq(self.devices.nics()) {
            // only interfaces of containers came or went: keep what was learned about the NICs
            None
        } else {
            Some(Plan::new(&Machine::live()?).divided(self.queue_cpus)).filter(|new| new != plan)
        };
        if let Some(plan) = &new {
            scheduler.update_plan(&translate::plan(plan, &devices)?)?;
            info!("the network devices changed");
            announce(plan);
        } else {
            scheduler.update_origins(&translate::origins(plan, &devices)?)?;
        }
        self.devices = devices;
        Ok(new)
    }
}

/// Logs where long-flow threads go.
pub(crate) fn announce(plan: &Plan) {
    for nic in &plan.nics {
        info!("NIC {}: long-flow threads go to CPUs {}", nic.name, nic.local_cpus);
    }
    if plan.nics.is_empty() {
        info!(
            "no NIC with a known place: long-flow threads are scheduled like threads without traffic"
        );
    }
}
