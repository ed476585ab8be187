//! `scx_steer nic daemon`: host steering without the scheduler.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use log::info;

use super::{ENDED, HostSteering};
use crate::nic::args::DaemonArgs;
use crate::nic::root;
use crate::signals;

/// How long a signal waits at most.
const NAP: Duration = Duration::from_millis(100);

/// Keeps the modes of the host file in force until a signal.
pub(in crate::nic) fn run(args: &DaemonArgs) -> Result<()> {
    root::needed("nic daemon")?;
    let shutdown = signals::on_shutdown()?;
    let steering =
        HostSteering::start(&args.host, args.policy.policy.as_deref(), signals::on_reload()?)?;
    info!("host steering is in force until SIGINT or SIGTERM");
    while !shutdown.raised() {
        ensure!(!steering.has_ended(), ENDED);
        thread::sleep(NAP);
    }
    drop(steering);
    Ok(())
}
