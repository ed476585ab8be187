//! The flags for settings that a run is about.

use clap::Args;
use steer_ab::Setup;

/// Flags for settings.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// A shell command to run in the guest before anything is measured; may be repeated. Its NIC is
    /// eth0; with --nics each-node that of node N is ethN.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) setup_guest: Vec<String>,
    /// The same at the other end of the cable, in the lab's network namespace on this machine. The
    /// device is tap0, and tapN at ethN.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) setup_peer: Vec<String>,
}

impl From<SetupArgs> for Setup {
    fn from(args: SetupArgs) -> Self {
        let SetupArgs { setup_guest, setup_peer } = args;
        Self { setup_guest, setup_peer }
    }
}
