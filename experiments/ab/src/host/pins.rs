//! How to measure this host, and where threads are pinned.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::nic::Nic;
use steer_ground::cpus::CpuList;
use steer_scenario::arm::Arm;

/// How to measure this host instead of a guest.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The address of `steer-bench agent`, which drives the traffic.
    pub agent: String,
    /// The agent's key.
    pub key_file: PathBuf,
    /// The NIC that carries the traffic.
    pub nic: String,
    /// CPUs of the long-flow threads in the pinned arm. Default: those local to the NIC.
    pub pin_long: Option<CpuList>,
    /// CPUs of the RPC threads in the pinned arm. Default: all others.
    pub pin_rpc: Option<CpuList>,
}

impl HostOptions {
    /// CPUs of long-flow threads and of RPC threads in the pinned arm.
    pub(super) fn pins(
        &self,
        arms: &[Arm],
        nic: &Nic,
        nodes: &[Vec<usize>],
    ) -> Result<(Vec<usize>, Vec<usize>)> {
        let long = self.pin_long.as_ref().or(nic.cpus.as_ref());
        let long: Vec<usize> = long.into_iter().flat_map(CpuList::iter).collect();
        let rpc = match &self.pin_rpc {
            Some(cpus) => cpus.iter().collect(),
            None => {
                let all = nodes.iter().flatten().copied();
                all.filter(|cpu| !long.contains(cpu)).collect::<Vec<_>>()
            }
        };
        if arms.iter().any(|arm| arm.pinned) {
            ensure!(
                !long.is_empty(),
                "the CPUs near {} are unknown: give the pinned arm --pin-long and --pin-rpc, \
                 or leave it out of --arms",
                nic.name
            );
            ensure!(
                !rpc.is_empty(),
                "all CPUs are near {}: give the pinned arm --pin-long and --pin-rpc, or leave it \
                 out of --arms",
                nic.name
            );
        }
        Ok((long, rpc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pins(
        nic_cpus: Option<&str>,
        pin_long: Option<&str>,
        pin_rpc: Option<&str>,
        arm: &str,
    ) -> Result<(Vec<usize>, Vec<usize>)> {
        let list = |text: Option<&str>| text.map(|text| text.parse().unwrap());
        let options = HostOptions {
            agent: "10.0.0.2:5299".to_owned(),
            key_file: "steer.key".into(),
            nic: "eth0".to_owned(),
            pin_long: list(pin_long),
            pin_rpc: list(pin_rpc),
        };
        let nic = Nic { name: "eth0".to_owned(), node: None, cpus: list(nic_cpus) };
        options.pins(&[arm.parse().unwrap()], &nic, &[vec![0, 1], vec![2, 3]])
    }

    #[test]
    fn long_flows_are_pinned_near_the_nic_and_rpcs_elsewhere() {
        assert_eq!(pins(Some("2-3"), None, None, "pinned").unwrap(), (vec![2, 3], vec![0, 1]));
        let given = pins(Some("2-3"), Some("2"), None, "pinned").unwrap();
        assert_eq!(given, (vec![2], vec![0, 1, 3]));
        assert_eq!(pins(None, Some("1"), Some("1"), "pinned").unwrap(), (vec![1], vec![1]));
    }

    #[test]
    fn only_the_pinned_arm_needs_to_know_where() {
        let error = pins(None, None, None, "pinned").unwrap_err().to_string();
        assert!(error.contains("unknown") && error.contains("--pin-long"), "{error}");
        let error = pins(Some("0-3"), None, None, "pinned").unwrap_err().to_string();
        assert!(error.contains("all CPUs are near eth0"), "{error}");
        assert!(pins(None, None, None, "default").is_ok());
    }
}
