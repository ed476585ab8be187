//! `scx_steer nic`: on which CPUs the host's NICs are served, and how that can be changed and put
//! back. Needs neither sched_ext nor BPF.

mod apply;
mod args;
mod back;
mod check;
mod daemon;
mod keeper;
mod plan;
mod restore;
mod root;
mod status;
mod stops;
mod table;
mod watch;

use anyhow::Result;
use steer_nic::{Found, Journal, Store};

pub(crate) use args::{HostArgs, NicCommand};
pub(crate) use daemon::{HostStatus, HostSteering};

/// Runs one of the `nic` commands.
pub(crate) fn run(command: &NicCommand) -> Result<()> {
    match command {
        NicCommand::Status(args) => status::run(args),
        NicCommand::Plan(args) => plan::run(args),
        NicCommand::Apply(args) => apply::run(args),
        NicCommand::Restore(args) => restore::run(args),
        NicCommand::Watch(args) => watch::run(args),
        NicCommand::Daemon(args) => daemon::run(args),
        NicCommand::Check(args) => check::run(args),
        NicCommand::Schema => {
            println!("{}", serde_json::to_string_pretty(&steer_policy::host_schema())?);
            Ok(())
        }
    }
}

/// The journal of this boot, if there is one.
fn journal(store: &Store) -> Result<Option<Journal>> {
    Ok(match store.load()? {
        Found::Journal(journal) => Some(journal),
        Found::Nothing | Found::OldBoot(_) => None,
    })
}
