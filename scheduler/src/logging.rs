//! Log lines go to stderr. Stdout carries only what a script may parse.

use std::io::{IsTerminal, stderr};

use anyhow::{Context, Result};
use log::LevelFilter;
use simplelog::{ColorChoice, ConfigBuilder, TermLogger, TerminalMode};

/// Sets up the log. `verbose` counts how often `-v` was given.
pub(crate) fn init(verbose: u8) -> Result<()> {
    let level = match verbose {
        0 => LevelFilter::Info,
        1 => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    };
    let config = ConfigBuilder::new()
        .set_time_level(LevelFilter::Off)
        .set_location_level(LevelFilter::Off)
        .set_target_level(LevelFilter::Off)
        .set_thread_level(LevelFilter::Off)
        .build();
    steer_bpf::log_libbpf();
    let color = if stderr().is_terminal() { ColorChoice::Auto } else { ColorChoice::Never };
    TermLogger::init(level, config, TerminalMode::Stderr, color).context("setting up the log")
}
