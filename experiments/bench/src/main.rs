//! `steer-bench`: drives network traffic, measures it under several CPU schedulers, and reports
//! the differences. It links no scheduler code: it runs programs and reads their JSON.

mod args;
mod cli;
mod lab;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use clap::Parser;
use signal_hook::{consts::SIGPIPE, flag};

fn main() -> ExitCode {
    match run(cli::Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("steer-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: cli::Command) -> Result<()> {
    if command.only_prints() {
        // As other tools, end once the reader has gone, such as `head`; Rust ignores this signal,
        // and then printing panics. Other commands may have something to undo.
        flag::register_conditional_default(SIGPIPE, Arc::new(AtomicBool::new(true)))
            .context("cannot handle SIGPIPE")?;
    }
    command.run()
}
