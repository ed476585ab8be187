//! scx_steer: a network-aware CPU scheduler for Linux.

mod cgroups;
mod cli;
mod generate;
mod logging;
mod metrics;
mod nic;
mod nics;
mod observe;
mod policy;
mod preflight;
mod schedule;
mod service;
mod settings;
mod signals;
mod stats;
mod status;
mod topology;
mod translate;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scx_steer: {error:#}");
            schedule::exit_code(&error)
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    logging::init(cli.schedule.verbose)?;
    match cli.command {
        Some(Command::Topology(args)) => topology::run(&args),
        Some(Command::Observe(args)) => observe::run(&args),
        Some(Command::Policy(command)) => policy::run(&command),
        Some(Command::Nic(command)) => nic::run(&command),
        Some(Command::Status(args)) => status::run(&args),
        Some(Command::Metrics(args)) => metrics::run(&args),
        Some(Command::Generate(args)) => generate::run(&args),
        None if cli.schedule.help_stats => stats::describe(),
        None => match cli.schedule.monitor {
            Some(interval) => stats::monitor(interval.into(), &signals::on_shutdown()?),
            None => schedule::run(&cli.schedule),
        },
    }
}
