//! Facts that are not files: the machine as hwloc sees it, and what drivers answer. Recorded as JSON
//! beside a recorded tree.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use steer_nic::{Feature, Live, NicState, Pause};
use steer_topology::Machine;

use crate::connections::{Connection, connections};
use crate::core_scheduling::core_scheduling_users;
use crate::observed::Observed;

/// What was asked, each with the reason if there was no answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    /// The machine.
    pub machine: Result<Machine, String>,
    /// The NICs of the machine.
    pub nics: Result<Vec<NicFacts>, String>,
    /// TCP connections to other hosts.
    pub connections: Result<Vec<Connection>, String>,
    /// What the observer saw.
    pub observed: Result<Observed, String>,
    /// The processes that use core scheduling; `None` if that cannot hang the kernel.
    #[serde(default)]
    pub core_scheduling: Option<Vec<String>>,
}

/// A NIC: its settings, and what else its driver answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NicFacts {
    /// Settings of host steering.
    #[serde(flatten)]
    pub state: NicState,
    /// Flow control; `None` if the device does not know it.
    pub pause: Option<Pause>,
    /// Features by the kernel's names.
    pub features: BTreeMap<String, Feature>,
    /// Those counters of the driver whose names mention aRFS.
    pub arfs_counters: BTreeMap<String, u64>,
}

impl NicFacts {
    /// Interface name.
    pub(crate) fn name(&self) -> &str {
        &self.state.device.name
    }
}

impl Facts {
    /// Asks this host. Observation is the caller's: it needs root and BPF.
    pub fn live(observed: Result<Observed, String>) -> Facts {
        let machine = Machine::live().map_err(|error| error.to_string());
        let nics = match &machine {
            Ok(machine) => nics(machine),
            Err(error) => Err(error.clone()),
        };
        let connections = connections().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                "this kernel cannot list TCP connections: it lacks tcp_diag (modprobe tcp_diag)"
                    .into()
            }
            _ => format!("the kernel does not list TCP connections: {error}"),
        });
        Facts { machine, nics, connections, observed, core_scheduling: core_scheduling_users() }
    }

    /// Reads recorded facts.
    ///
    /// # Errors
    /// The text is not what [`record`](crate::record()) writes.
    pub fn recorded(text: &str) -> io::Result<Facts> {
        serde_json::from_str(text).map_err(io::Error::other)
    }
}

fn nics(machine: &Machine) -> Result<Vec<NicFacts>, String> {
    let live = Live::open().map_err(|error| format!("no socket to ask drivers: {error}"))?;
    machine.nics.iter().map(|nic| facts(&live, machine, &nic.name)).collect()
}

fn facts(live: &Live, machine: &Machine, name: &str) -> Result<NicFacts, String> {
    let ask = || -> Result<NicFacts, steer_nic::Error> {
        let mut counters = live.statistics(name)?;
        counters.retain(|name, _| name.contains("arfs"));
        Ok(NicFacts {
            state: live.state(machine, name)?,
            pause: live.pause(name)?,
            features: live.features(name)?,
            arfs_counters: counters,
        })
    };
    ask().map_err(|error| error.to_string())
}
