//! `scx_steer metrics`: serves what the running instance counts to Prometheus. A process of its own,
//! without privileges: the scheduler answers one question a second at most, however many ask here.

mod args;
mod daemon;
mod families;
mod http;
mod names;
mod serve;
#[cfg(test)]
mod tests;
mod textfile;
mod totals;

use anyhow::Result;

pub(crate) use args::MetricsArgs;
pub(crate) use totals::Totals;

use crate::signals;
use daemon::Daemon;

/// Serves metrics until a signal arrives, or writes them to a file.
///
/// # Errors
/// The address cannot be listened on, or the file cannot be written. That no scheduler is in force
/// is no error: it is what the metrics then say.
pub(crate) fn run(args: &MetricsArgs) -> Result<()> {
    let shutdown = signals::on_shutdown()?;
    let daemon = Daemon::new(args.socket.clone());
    match &args.textfile {
        Some(path) => textfile::run(&daemon, path, args.every.map(Into::into), &shutdown),
        None => serve::run(daemon, &args.listen, &shutdown),
    }
}
