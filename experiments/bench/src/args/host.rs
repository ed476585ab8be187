//! The flags for measuring this host instead of a guest.

use std::path::PathBuf;

use clap::Args;
use steer_ab::HostOptions;
use steer_ground::cpus::CpuList;

/// Flags for measuring this host instead of a guest.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measuring this host")]
pub(crate) struct HostArgs {
    /// Measure this host, with traffic from the host where `steer-bench agent` runs. Give that
    /// host's address on the measured network. Commands of arms are looked up in PATH and among the
    /// files of --with.
    #[arg(long, value_name = "HOST:PORT", requires_all = ["key_file", "nic"])]
    #[arg(conflicts_with_all = ["steering", "kernel", "shape", "node_memory", "nics", "setup_guest", "setup_peer"])]
    pub(crate) agent: Option<String>,
    /// File with the agent's key.
    #[arg(long, value_name = "FILE", requires = "agent")]
    pub(crate) key_file: Option<PathBuf>,
    /// The NIC that carries the traffic.
    #[arg(long, value_name = "NAME", requires = "agent")]
    pub(crate) nic: Option<String>,
    /// CPUs of the long-flow threads in the pinned arm [default: those local to the NIC].
    #[arg(long, value_name = "LIST", requires = "agent")]
    pub(crate) pin_long: Option<CpuList>,
    /// CPUs of the RPC threads in the pinned arm [default: all others].
    #[arg(long, value_name = "LIST", requires = "agent")]
    pub(crate) pin_rpc: Option<CpuList>,
}

impl HostArgs {
    /// The options, if this host is to be measured.
    pub(crate) fn options(self) -> Option<HostOptions> {
        let Self { agent, key_file, nic, pin_long, pin_rpc } = self;
        // clap accepts these three only together.
        Some(HostOptions { agent: agent?, key_file: key_file?, nic: nic?, pin_long, pin_rpc })
    }
}
