//! Bare `scx_steer`: load, stay in force, unload.

use std::{mem::MaybeUninit, thread, time::Duration};

use anyhow::{Context, Result, anyhow};
use log::{info, warn};
use scx_stats::prelude::*;
use steer_bpf::{LoadOptions, Scheduler};
use steer_policy::{Plan, Settings};
use steer_topology::{Machine, NetworkDevices};

use crate::{
    cli::ScheduleArgs,
    preflight::{self, Need},
    shutdown::{self, Shutdown},
    stats::{self, Counters},
    translate,
};

/// How often the slow loop looks at the host.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Loads the scheduler and keeps it in force until a signal; loads it anew when CPUs come or go.
pub(crate) fn run(args: &ScheduleArgs) -> Result<()> {
    preflight::check(Need::SchedExt)?;
    let settings = Settings::default();
    settings.validate().map_err(|errors| anyhow!("{}", errors[0]))?;
    let shutdown = shutdown::on_signal()?;
    let stats = StatsServer::new(stats::server_data())
        .launch()
        .context("starting the statistics server")?;
    if let Some(interval) = args.stats {
        let shutdown = shutdown.clone();
        thread::spawn(move || {
            if let Err(error) = stats::monitor(interval.into(), &shutdown) {
                warn!("{error:#}");
            }
        });
    }
    while serve(args, &settings, &stats, &shutdown)? == Next::Restart {
        info!("the kernel asked for a restart: loading the scheduler again");
    }
    Ok(())
}

#[derive(PartialEq)]
enum Next {
    Stop,
    Restart,
}

/// One life of the scheduler, from load to unload.
fn serve(
    args: &ScheduleArgs,
    settings: &Settings,
    stats: &StatsServer<(), Counters>,
    shutdown: &Shutdown,
) -> Result<Next> {
    let mut devices = NetworkDevices::now()?;
    let plan = Plan::new(&Machine::live()?);
    let options = LoadOptions { exit_dump_len: args.exit_dump_len, libbpf: args.libbpf.clone() };
    let mut slot = MaybeUninit::uninit();
    let mut scheduler = Scheduler::attach(
        &mut slot,
        &options,
        &translate::default_policy(&settings.classification),
        &translate::places(&settings.placement),
        &translate::plan(&plan)?,
    )?;
    announce(&plan);

    let (replies, requests) = stats.channels();
    while !shutdown.requested() && !scheduler.exited() {
        if requests.recv_timeout(LOOK_EVERY).is_ok() {
            replies.send(scheduler.counters()?)?;
        }
        follow_nics(&mut scheduler, &mut devices)?;
    }
    let report = scheduler.detach()?;
    Ok(if !shutdown.requested() && report.should_restart() { Next::Restart } else { Next::Stop })
}

fn announce(plan: &Plan) {
    info!("scx_steer is in force on {} CPUs with {} caches", plan.cpus.len(), plan.nr_llcs);
    for nic in &plan.nics {
        info!("NIC {}: long-flow threads go to CPUs {}", nic.name, nic.local_cpus);
    }
    if plan.nics.is_empty() {
        info!("no NIC whose place is known: long-flow threads are left to the fair rules");
    }
}

/// Tells the scheduler about NICs that came or went. Reads the machine only when some did.
fn follow_nics(scheduler: &mut Scheduler<'_>, devices: &mut NetworkDevices) -> Result<()> {
    let now = NetworkDevices::now()?;
    if now == *devices {
        return Ok(());
    }
    *devices = now;
    let plan = Plan::new(&Machine::live()?);
    scheduler.update_plan(&translate::plan(&plan)?)?;
    info!("the network devices changed");
    announce(&plan);
    Ok(())
}
