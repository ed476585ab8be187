//! scx_steer: a network-aware CPU scheduler for Linux.

mod cgroups;
mod cli;
mod doctor;
mod generate;
mod hurry;
mod limits;
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
mod top;
mod topology;
mod translate;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let doctor = matches!(cli.command, Some(Command::Doctor(_)));
    match run(cli) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("scx_steer: {error:#}");
            // the doctor's code 1 means warnings
            if doctor { ExitCode::from(2) } else { schedule::exit_code(&error) }
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode> {
    logging::init(cli.schedule.verbose)?;
    if cli.only_prints() {
        signals::end_without_reader()?;
    }
    match cli.command {
        Some(Command::Doctor(args)) => return doctor::run(&args),
        Some(Command::Top(args)) => top::run(&args),
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
    }?;
    Ok(ExitCode::SUCCESS)
}
