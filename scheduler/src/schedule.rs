//! Bare `scx_steer`: loads the scheduler, keeps it in force, unloads it.

use std::{
    fmt,
    mem::MaybeUninit,
    process::{self, ExitCode},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use log::{debug, info, warn};
use scx_stats::prelude::*;
use steer_bpf::{Exit, LoadOptions, Scheduler};
use steer_policy::{CpuPlace, Plan};
use steer_topology::{CpuSet, Machine, NetworkDevices};

use crate::{
    cli::ScheduleArgs,
    hurry::Hurry,
    limits::LimitsStatus,
    nic::HostSteering,
    nics::{self, Nics},
    policy::LivePolicy,
    preflight::{self, Need},
    service::Service,
    signals::{self, Flag},
    stats::{self, Answer},
    status::{NicStatus, Status},
    translate,
};

/// How often the slow loop checks the host's NICs.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it checks for new cgroups. Until then a new cgroup has its parent's policy.
const FOLLOW_EVERY: Duration = Duration::from_millis(50);

/// Loads the scheduler and keeps it in force until a signal arrives. Loads it again when a CPU
/// comes or goes.
pub(crate) fn run(args: &ScheduleArgs) -> Result<()> {
    let settings = args.settings.settings();
    preflight::check(Need::SchedExt)?;
    let shutdown = signals::on_shutdown()?;
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
    let mut policy = LivePolicy::load(args.policy.policy.clone(), settings, signals::on_reload()?)?;
    let host =
        HostSteering::start(&args.host, args.policy.policy.as_deref(), signals::on_reload()?)?;
    let mut service = Service::new();
    let (mut loads, mut left_early) = (1, 0);
    loop {
        let lives = (loads, left_early);
        let exit = match serve(args, &mut policy, &host, &stats, lives, &shutdown, &mut service) {
            Err(error) if service.was_ready() => return Err(error.context(Ended)),
            exit => exit?,
        };
        if exit == Exit::Unloaded || shutdown.raised() {
            return Ok(());
        }
        loads += 1;
        left_early += u64::from(exit == Exit::BeforeCpuLeft);
        info!("a CPU came or went: loading the scheduler again");
    }
}

/// Marks an error that ended a scheduler which was in force.
#[derive(Debug)]
struct Ended;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("scx_steer was in force and has ended, the kernel's scheduler has taken over")
    }
}

/// The exit code for an error: 3 if a scheduler was in force, so that a service manager loads it
/// again; else 1: the same would happen again.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.is::<Ended>() { ExitCode::from(3) } else { ExitCode::FAILURE }
}

/// One life of the scheduler, from load to unload.
fn serve(
    args: &ScheduleArgs,
    policy: &mut LivePolicy,
    host: &HostSteering,
    stats: &StatsServer<(), Answer>,
    (loads, left_early): (u64, u64),
    shutdown: &Flag,
    service: &mut Service,
) -> Result<Exit> {
    // read before the machine: a CPU that comes or goes from here on restarts the scheduler
    let hotplug_seq = Scheduler::hotplug_seq()?;
    let devices = NetworkDevices::now()?;
    let queue_cpus = policy.settings().placement.queue_cpus;
    let mut plan = Plan::new(&Machine::live()?).divided(queue_cpus);
    let options = LoadOptions {
        exit_dump_len: args.exit_dump_len,
        hotplug_seq,
        cookies_hang: steer_doctor::core_scheduling_hangs(),
        libbpf: args.libbpf.clone(),
    };
    let mut slot = MaybeUninit::uninit();
    let hurry = Hurry::new();
    let mut scheduler = Scheduler::attach(
        &mut slot,
        &options,
        &translate::default_policy(&policy.settings().classification),
        &translate::places(&policy.settings().placement),
        &translate::plan(&plan, &devices)?,
    )?;
    drop(hurry);
    // a CPU came or went meanwhile
    if scheduler.exited() {
        return scheduler.detach();
    }
    let in_force = in_force(&plan);
    info!("scx_steer is {in_force}");
    nics::announce(&plan);
    let mut nics = Nics::new(devices, queue_cpus);
    let programs = scheduler.programs()?;
    for size in &programs {
        debug!("{} {} instructions, {} verified", size.name, size.instructions, size.verified);
    }
    if policy.has_rules() {
        policy.apply(&mut scheduler, &plan)?;
    }
    service.ready(&in_force);

    let loaded = Instant::now();
    let mut looked = loaded;
    let (replies, requests) = stats.channels();
    while !shutdown.raised() && !scheduler.exited() {
        service.alive();
        let pause = if policy.has_rules() { FOLLOW_EVERY } else { LOOK_EVERY };
        if requests.recv_timeout(pause).is_ok() {
            let status = Status {
                version: env!("CARGO_PKG_VERSION").into(),
                pid: process::id(),
                in_force_s: loaded.elapsed().as_secs(),
                loads,
                left_early,
                programs: programs.clone(),
                cpus: plan.cpus.len(),
                caches: plan.nr_llcs as usize,
                queues: plan.nr_shards as usize,
                nics: (0..)
                    .zip(&plan.nics)
                    .map(|(id, nic)| NicStatus::new(nic, scheduler.steering(id)))
                    .collect(),
                reserved_cpus: reserved_cpus(&scheduler, &plan).to_string(),
                limits: LimitsStatus::now(&scheduler)?,
                policy: policy.status(),
                host: host.status(),
            };
            replies.send(Answer { decisions: scheduler.counters()?, status })?;
        }
        policy.follow(&mut scheduler, &plan)?;
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            stats::tell_placed(host, &scheduler.counters()?);
            if let Some(new) = nics.follow(&mut scheduler, &plan) {
                plan = new;
                if policy.has_rules() {
                    policy.apply(&mut scheduler, &plan)?;
                }
            }
        }
    }
    if shutdown.raised() {
        service.stopping();
    }
    scheduler.detach()
}

/// What the log and the service manager are told.
fn in_force(plan: &Plan) -> String {
    let (cpus, caches, queues) = (plan.cpus.len(), plan.nr_llcs, plan.nr_shards);
    let queues = if queues > caches { format!(" and {queues} queues") } else { String::new() };
    format!("in force on {cpus} CPUs with {caches} caches{queues}")
}

fn reserved_cpus(scheduler: &Scheduler<'_>, plan: &Plan) -> CpuSet {
    let reserved =
        |(cpu, place): (&u32, &CpuPlace)| scheduler.is_reserved(place.core).then_some(*cpu);
    plan.cpus.iter().filter_map(reserved).collect()
}
