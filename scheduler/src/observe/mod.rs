//! `scx_steer observe`: measure placement under whatever scheduler is in force.

mod histogram;
mod report;
mod timeline;

use std::{
    mem::MaybeUninit,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use steer_bpf::{CpuTime, LoadedObserver, intf::observed_cpu};
use steer_policy::{Plan, Settings};
use steer_topology::{CpuSet, Machine, NetworkDevices};

pub(crate) use crate::observe::report::Report;
use crate::{
    cgroups,
    cli::ObserveArgs,
    observe::timeline::Timeline,
    preflight::{self, Need},
    signals::{self, wait},
    translate,
};

/// Measures for the requested time, then prints the report.
pub(crate) fn run(args: &ObserveArgs) -> Result<()> {
    measure(args, |report| {
        if args.json {
            println!("{}", serde_json::to_string(report)?);
        } else {
            print!("{report}");
        }
        Ok(())
    })
}

/// Measures for the requested time, then hands the report to `tell`.
pub(crate) fn measure(args: &ObserveArgs, tell: impl FnOnce(&Report) -> Result<()>) -> Result<()> {
    preflight::check(Need::Tracing)?;
    let settings = Settings::default();
    settings.validate().map_err(|errors| anyhow!("{}", errors[0]))?;
    let machine = Machine::live()?;
    let plan = Plan::new(&machine);
    let online: CpuSet = machine.online_cpus();
    let shown = args.cpus.as_ref().map_or(online.clone(), |cpus| online.intersection(cpus));
    ensure!(!shown.is_empty(), "none of the CPUs of --cpus is online: {online} are");
    let shutdown = signals::on_shutdown()?;

    let mut slot = MaybeUninit::uninit();
    let loaded = LoadedObserver::load(
        &mut slot,
        &translate::classes(&settings.classification),
        &translate::plan(&plan, &NetworkDevices::now()?)?,
        args.cgroup.as_deref().map(cgroups::observed).transpose()?,
        CpuTime::Traced,
    )?;
    let observer = loaded.attach()?;
    eprintln!("observing");
    wait(args.lead.map_or(Duration::ZERO, Duration::from), &shutdown);

    let interval = Duration::from(args.interval);
    let duration = args.duration.map_or(Duration::MAX, Duration::from);
    let before = observer.read(online.iter())?;
    let start = Instant::now();
    let mut timeline = Timeline::new(interval, &shown, &before);
    for tick in 1u32.. {
        let next = (interval * tick).min(duration);
        wait(next.saturating_sub(start.elapsed()), &shutdown);
        timeline.add(&observer.read(online.iter())?);
        if next == duration || shutdown.raised() {
            break;
        }
    }
    let elapsed = start.elapsed();
    let after = observer.read(online.iter())?;

    let counted = |cpus: Vec<observed_cpu>| -> Vec<observed_cpu> {
        let asked_for = |cpu| args.cpus.as_ref().is_none_or(|wanted| wanted.contains(cpu));
        (0..).zip(cpus).filter(|(cpu, _)| asked_for(*cpu)).map(|(_, counters)| counters).collect()
    };
    let (before, after) = (counted(before), counted(after));
    let report = Report::new(&plan, args.cgroup.clone(), elapsed, &before, &after, timeline);
    tell(&report)?;
    wait(args.tail.map_or(Duration::ZERO, Duration::from), &shutdown);
    Ok(())
}
