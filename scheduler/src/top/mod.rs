//! `scx_steer top`: where threads and packets are now, and why. Reads only.

mod cgroups;
mod collect;
mod rates;
mod screen;
mod threads;

use std::mem::MaybeUninit;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use steer_bpf::{CpuTime, LoadedObserver};
use steer_policy::{Plan, Settings};
use steer_topology::{Machine, NetworkDevices};

use crate::cli::Seconds;
use crate::preflight::{self, Need};
use crate::{signals, translate};

use collect::Collector;

/// Options of `top`.
#[derive(Debug, Args)]
#[command(after_help = "\
Works under any scheduler. What scx_steer decided is only known while it is in force. Needs root.

Keys: v or arrows next view; up, down, Enter a row in full; n node; l cache; + - interval; t theme;
S save; ? help; q quit.

Examples:
  sudo scx_steer top
  sudo scx_steer top --batch 1 | jq '.threads[] | {name, class, why}'
  sudo scx_steer top --json > samples.jsonl        one line per second, until Ctrl-C")]
pub(crate) struct TopArgs {
    /// Time between two samples.
    #[arg(long, value_name = "SECONDS", default_value = "1")]
    interval: Seconds,
    /// Print samples as lines of JSON instead of a screen.
    #[arg(long)]
    json: bool,
    /// Print this many samples as lines of JSON, and exit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
}

/// Shows or prints samples until the user or a signal ends it.
///
/// # Errors
/// The observer cannot be loaded, or the terminal cannot be used.
pub(crate) fn run(args: &TopArgs) -> Result<()> {
    preflight::check(Need::Tracing)?;
    let machine = Machine::live()?;
    let plan = Plan::new(&machine);
    let shutdown = signals::on_shutdown()?;
    let mut slot = MaybeUninit::uninit();
    let observer = LoadedObserver::load(
        &mut slot,
        &translate::classes(&Settings::default().classification),
        &translate::plan(&plan, &NetworkDevices::now()?)?,
        None,
        CpuTime::Sampled,
    )?
    .attach()?;
    let mut collector = Collector::new(&observer, machine)?;
    let interval = Duration::from(args.interval);
    if !args.json && args.batch.is_none() {
        return screen::run(&mut collector, interval, &shutdown);
    }
    for _ in 0..args.batch.unwrap_or(u64::MAX) {
        signals::wait(interval, &shutdown);
        if shutdown.raised() {
            break;
        }
        println!("{}", serde_json::to_string(&collector.sample()?)?);
    }
    Ok(())
}
