//! A thread of the server: it has a name and perhaps CPUs, and says why it ended.

use std::io::{self, ErrorKind};
use std::thread;

use anyhow::{Context, Result};
use steer_ground::cpus::CpuList;

/// Starts a thread that is pinned to the whole set, if there is one.
pub(super) fn start(
    name: String,
    pin: Option<CpuList>,
    work: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<()> {
    let context = format!("cannot start {name}");
    thread::Builder::new()
        .name(name.clone())
        .spawn(move || {
            let pinned = pin.map_or(Ok(()), |cpus| cpus.pin_current_thread());
            if let Err(error) = pinned.and_then(|()| work()) {
                eprintln!("steer-bench: {name}: {error:#}");
            }
        })
        .context(context)?;
    Ok(())
}

/// Clients close with a reset, so that their ports are free at once.
pub(super) fn is_the_peers_end(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}
