//! `steer-bench`: drives network traffic, measures it under several CPU schedulers, and reports
//! the differences. It links no scheduler code: it runs programs and reads their JSON.

mod args;
mod cli;
mod lab;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("steer-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
