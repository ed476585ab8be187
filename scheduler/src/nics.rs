//! The host's NICs while the scheduler is in force: they come and go.

use anyhow::{Context, Result};
use log::{info, warn};
use steer_bpf::Scheduler;
use steer_policy::Plan;
use steer_topology::{Machine, NetworkDevices};

use crate::translate;

/// The network devices that the scheduler knows.
pub(crate) struct Nics {
    devices: NetworkDevices,
    /// Why the last change could not be followed; said once.
    complaint: Option<String>,
}

impl Nics {
    pub(crate) fn new(devices: NetworkDevices) -> Self {
        Self { devices, complaint: None }
    }

    /// Tells the scheduler about NICs that came or went; the new plan if some did. Reads the
    /// machine only then. A change that cannot be followed, say to more NICs than the tables hold,
    /// is said, and tried again: the NICs as they were stay in force.
    pub(crate) fn follow(&mut self, scheduler: &mut Scheduler<'_>, plan: &Plan) -> Option<Plan> {
        match self.change(scheduler, plan) {
            Ok(new) => {
                self.complaint = None;
                new
            }
            Err(error) => {
                let complaint = format!("{error:#}");
                if self.complaint.as_ref() != Some(&complaint) {
                    warn!("the NICs as they were stay in force: {complaint}");
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
            // containers' interfaces come and go; what was learned of the NICs is kept then
            None
        } else {
            Some(Plan::new(&Machine::live()?)).filter(|new| new != plan)
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

/// Says where long-flow threads go.
pub(crate) fn announce(plan: &Plan) {
    for nic in &plan.nics {
        info!("NIC {}: long-flow threads go to CPUs {}", nic.name, nic.local_cpus);
    }
    if plan.nics.is_empty() {
        info!("no NIC whose place is known: long-flow threads are left to the fair rules");
    }
}
