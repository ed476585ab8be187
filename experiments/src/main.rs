//! `steer-bench`: drives network traffic, measures it under several CPU schedulers, and reports
//! what differed. It links no scheduler code: it runs programs and reads their JSON.

mod cli;
mod compare;
mod cpu;
mod guest;
mod lab;
mod remote;
mod report;
mod result;
mod run;
mod spec;
mod stats;
mod traffic;

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
