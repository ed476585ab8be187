//! The flags for shell commands that set up what a run varies.

use clap::Args;
use steer_scenario::setup::Setup;

/// Flags for shell commands that set up a run.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// A shell command to run in the guest before anything is measured. May be repeated. The NIC is
    /// eth0; with --nics each-node, the NIC of node N is ethN.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) setup_guest: Vec<String>,
    /// The same at the other end of the cable, in the lab's network namespace on this machine. The
    /// device is tap0; ethN is connected to tapN.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) setup_peer: Vec<String>,
}

impl From<SetupArgs> for Setup {
    fn from(args: SetupArgs) -> Self {
        let SetupArgs { setup_guest, setup_peer } = args;
        Self { setup_guest, setup_peer }
    }
}
