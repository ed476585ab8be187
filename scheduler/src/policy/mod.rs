//! `scx_steer policy`: checks the policy files, and shows and explains their effect on this host.

mod args;
mod check;
mod explain;
mod live;
pub(crate) mod load;
mod process;
mod show;
mod threads;
mod watch;

use anyhow::Result;

pub(crate) use args::{PolicyArg, PolicyCommand};
pub(crate) use check::count;
pub(crate) use live::LivePolicy;
pub(crate) use threads::{LiveThread, class};
pub(crate) use watch::Watch;

/// A commented policy file that passes `policy check`.
const EXAMPLE: &str = include_str!("example.toml");

/// Runs one of the `policy` commands.
pub(crate) fn run(command: &PolicyCommand) -> Result<()> {
    match command {
        PolicyCommand::Check(args) => check::run(args),
        PolicyCommand::Show(args) => show::run(args),
        PolicyCommand::Explain(args) => explain::run(args),
        PolicyCommand::Schema => {
            println!("{}", serde_json::to_string_pretty(&steer_policy::schema())?);
            Ok(())
        }
        PolicyCommand::Example => {
            print!("{EXAMPLE}");
            Ok(())
        }
    }
}
