//! The flags for measuring a host, and where they pin threads.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use super::nic::Nic;
use crate::run::arm::Arm;
use crate::traffic::cpus::CpuList;

/// Flags for measuring this host rather than a guest.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measuring this host")]
pub(crate) struct HostArgs {
    /// Measure this host, with traffic from the host where `steer-bench agent` waits. Its address
    /// must be the one on the measured network. Commands of arms are looked for in PATH and among
    /// the files of --with.
    #[arg(long, value_name = "HOST:PORT", requires_all = ["key_file", "nic"])]
    #[arg(conflicts_with_all = ["worlds", "kernel", "shape", "node_memory", "nics", "setup_guest", "setup_peer"])]
    pub(in crate::run) agent: Option<String>,
    /// The agent's key.
    #[arg(long, value_name = "FILE", requires = "agent")]
    pub(super) key_file: Option<PathBuf>,
    /// The NIC that the traffic comes in by.
    #[arg(long, value_name = "NAME", requires = "agent")]
    pub(super) nic: Option<String>,
    /// CPUs of the long-flow threads in the pinned arm [default: those local to the NIC].
    #[arg(long, value_name = "LIST", requires = "agent")]
    pin_long: Option<CpuList>,
    /// CPUs of the RPC threads in the pinned arm [default: all others].
    #[arg(long, value_name = "LIST", requires = "agent")]
    pin_rpc: Option<CpuList>,
}

impl HostArgs {
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
                "which CPUs {} is near to is unknown: give the pinned arm --pin-long and --pin-rpc, \
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
        let args = HostArgs {
            agent: None,
            key_file: None,
            nic: None,
            pin_long: list(pin_long),
            pin_rpc: list(pin_rpc),
        };
        let nic = Nic { name: "eth0".to_owned(), node: None, cpus: list(nic_cpus) };
        args.pins(&[arm.parse().unwrap()], &nic, &[vec![0, 1], vec![2, 3]])
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
