//! `steer-bench lab adapt`: how soon placement follows. Two things change under way, round after
//! round, under each scheduler in turn: long flows begin, and their IRQs move to other CPUs. The
//! server says where each long-flow thread runs and where its packets arrive, at every change.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;

use super::arm::Arm;
use super::generator::Generators;
use super::layout::Layout;
use super::workload::WorkloadArgs;
use super::{sample, scheduler};
use crate::lab::facts::{Facts, Nic, affinity_path};
use crate::lab::guest::{Guest, GuestArgs};
use crate::lab::progress::Progress;
use crate::lab::steering::{Steering, Wheel};
use crate::traffic::trace::{Trace, settled};

/// Flags of `steer-bench lab adapt`.
#[derive(Debug, Args)]
pub(crate) struct AdaptArgs {
    /// Rounds; in each, every long flow begins once, and its IRQ moves once, under each scheduler.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// The schedulers, as for `ab`.
    #[arg(
        long,
        value_name = "ARM,...",
        value_delimiter = ',',
        default_value = "default,scx_steer"
    )]
    arms: Vec<Arm>,
    /// Write all times to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    guest: GuestArgs,
}

/// All times under one scheduler, in milliseconds; `None` where it did not come to that before the
/// next change, or the end.
#[derive(Debug, Serialize)]
struct Times {
    scheduler: String,
    /// From a flow's first bytes until its thread was on a NIC-local CPU, to stay on such for a while.
    new_flow_ms: Vec<Option<f64>>,
    /// From the first bytes that arrived on another CPU until the thread was on that, to stay.
    moved_irq_ms: Vec<Option<f64>>,
    /// What both were made from.
    traces: Vec<Traced>,
}

/// Of one flow.
#[derive(Debug, Serialize)]
struct Traced {
    /// When its IRQ moved, by the clock of what was seen.
    moved_at_ms: f64,
    seen: Trace,
}

/// Measures, prints a table.
///
/// # Errors
/// When a program fails in the guest, a scheduler is thrown out, or the guest's kernel complains.
pub(crate) fn run(mut args: AdaptArgs) -> Result<()> {
    args.workload.check()?;
    args.workload.check_own("lab adapt")?;
    args.workload.check_traced()?;
    args.guest.check_one_nic("lab adapt")?;
    ensure!(
        args.arms.iter().all(|arm| arm.tunings.is_empty()),
        "lab adapt moves the IRQs itself and sets nothing: leave what follows a + out of --arms"
    );
    args.workload.trace_long = true;
    let progress = Progress::rounds(args.rounds.into());
    let mut guest = Guest::boot(&args.guest, None, &progress)?;
    let facts = Facts::read(&mut guest.link, &guest.net)?;
    ensure!(
        facts.nics[0].cpus.len() > 1,
        "the NIC's node has one CPU: IRQs have nowhere to move to"
    );
    let wheel = Wheel::new(&mut guest.link, &guest.net, &facts)?;
    let new = |arm: &Arm| Times {
        scheduler: arm.name.clone(),
        new_flow_ms: Vec::new(),
        moved_irq_ms: Vec::new(),
        traces: Vec::new(),
    };
    let mut all: Vec<Times> = args.arms.iter().map(new).collect();
    for round in 0..args.rounds {
        for turn in 0..args.arms.len() {
            let which = (usize::from(round) + turn) % args.arms.len();
            progress.step(format!("round {}, {}", round + 1, args.arms[which].name));
            wheel.turn(Steering::Hash, &mut guest.link, &guest.net, &facts)?;
            // Other ports than the sample before, and all of them below the largest port.
            let nth = usize::from(round) * args.arms.len() + turn;
            let port = 20_000 + 100 * (nth % 300) as u16;
            let traced = one(&mut guest, &facts, &args.arms[which], &args.workload, port);
            let (traces, moved_at_ms) = guest.survive(traced)??;
            add(&mut all[which], traces, moved_at_ms, &facts);
        }
        progress.advance();
    }
    let complaints = guest.complaints()?;
    ensure!(complaints.is_empty(), "the guest's kernel complains: {}", complaints.join(" | "));
    drop(progress);
    print(&all);
    if let Some(path) = &args.out {
        let record = serde_json::json!({
            "version": 2,
            "subject_version": concat!("scx_steer ", env!("CARGO_PKG_VERSION")),
            "kernel": guest.kernel.release,
            "rounds": args.rounds,
            "times": all,
        });
        fs::write(path, serde_json::to_string_pretty(&record)? + "\n")
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// One round under one scheduler: the traces, and when the IRQs moved, by the guest's clock.
fn one(
    guest: &mut Guest,
    facts: &Facts,
    arm: &Arm,
    workload: &WorkloadArgs,
    source_port: u16,
) -> Result<(Vec<Trace>, f64)> {
    if let Some(command) = &arm.scheduler {
        scheduler::load(&mut guest.link, command)?;
    }
    let layout = Layout::of_guest(facts);
    let window = Instant::now() + workload.warmup();
    let programs = sample::serve(&mut guest.link, &layout, arm, workload, window)?;
    let traffic = Generators::start(&guest.net, workload, workload.warmup(), source_port)?;
    thread::sleep(workload.warmup() + workload.duration() / 2);
    let moved_at_ms = move_irqs(guest, facts)?;
    traffic.finish(&guest.net)?;
    let mut said = String::new();
    for program in &programs {
        said += &guest.link.stop(program).with_context(|| format!("stopping {program}"))?.stdout;
    }
    if arm.scheduler.is_some() {
        scheduler::unload(&mut guest.link, libc::SIGINT)?;
    }
    let (traces, flows) = (Trace::all(&said), usize::from(workload.long_flows));
    ensure!(
        traces.len() == flows,
        "the server told of {} long flows, where there are {flows}: raise --warmup",
        traces.len()
    );
    Ok((traces, moved_at_ms))
}

/// Moves each queue's IRQ to the next CPU of the NIC's node; gives the moment before, in
/// milliseconds of the guest's monotonic clock, to 10 ms.
fn move_irqs(guest: &mut Guest, facts: &Facts) -> Result<f64> {
    let Nic { cpus, queue_irqs, .. } = &facts.nics[0];
    let moves = queue_irqs.iter().map(|irq| {
        let cpu = cpus[(irq.queue + 1) % cpus.len()];
        format!(" && echo {cpu} > {}", affinity_path(irq.irq))
    });
    let script = format!("cat /proc/uptime{}", moves.collect::<String>());
    let done = guest.link.run(&["sh", "-c", &script], Duration::from_secs(60))?;
    ensure!(done.success(), "the IRQs cannot be moved: {}", done.last_words());
    let uptime = done.stdout.split(' ').next().and_then(|seconds| seconds.parse::<f64>().ok());
    uptime.map(|seconds| seconds * 1e3).with_context(|| format!("no uptime: {:?}", done.stdout))
}

fn add(times: &mut Times, traces: Vec<Trace>, moved_at_ms: f64, facts: &Facts) {
    let near = facts.local_cpus();
    for trace in traces {
        let local = settled(trace.until(moved_at_ms), |seen| near.contains(&seen.cpu));
        times.new_flow_ms.push(local);
        // Before the first packet of the new CPU there is nothing to follow.
        let home = trace.until(moved_at_ms).last().map(|seen| seen.packets_on);
        let after = trace.from(moved_at_ms);
        let arrived = after.iter().position(|seen| Some(seen.packets_on) != home);
        let after = arrived.map_or(&[][..], |first| &after[first..]);
        times.moved_irq_ms.push(settled(after, |seen| seen.cpu == seen.packets_on));
        times.traces.push(Traced { moved_at_ms, seen: trace });
    }
}

/// A line per scheduler and change.
fn print(all: &[Times]) {
    println!(
        "{:<10} {:<14} {:>5} {:>8} {:>8} {:>8}  not at all",
        "change", "scheduler", "times", "p50 ms", "p90 ms", "max ms"
    );
    type Change = (&'static str, fn(&Times) -> &[Option<f64>]);
    const CHANGES: [Change; 2] =
        [("new flow", |times| &times.new_flow_ms), ("IRQ moved", |times| &times.moved_irq_ms)];
    for (change, of) in CHANGES {
        for times in all {
            let mut came: Vec<f64> = of(times).iter().copied().flatten().collect();
            came.sort_by(f64::total_cmp);
            // the nearest rank
            let rank = |share: f64| {
                let rank = (share * came.len() as f64).ceil().max(1.0) as usize;
                came.get(rank - 1).map_or("-".to_owned(), |ms| format!("{ms:.1}"))
            };
            println!(
                "{change:<10} {:<14} {:>5} {:>8} {:>8} {:>8}  {}",
                times.scheduler,
                came.len(),
                rank(0.5),
                rank(0.9),
                rank(1.0),
                of(times).len() - came.len()
            );
        }
    }
}
