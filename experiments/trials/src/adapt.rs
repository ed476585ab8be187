//! `steer-bench lab adapt`: how soon placement adapts. In each round, under each scheduler in turn,
//! two things change: long flows begin, and their IRQs move to other CPUs. At every change, the
//! server prints where each long-flow thread runs and where its packets arrive.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use steer_ground::progress::Progress;
use steer_lab::facts::{Facts, Nic, affinity_path};
use steer_lab::fresh::Boots;
use steer_lab::guest::{Guest, GuestOptions};
use steer_lab::steering::{Steering, Wheel};
use steer_scenario::arm::{self, Arm};
use steer_scenario::generator::Generators;
use steer_scenario::layout::Layout;
use steer_scenario::workload::Workload;
use steer_scenario::{programs, scheduler};
use steer_traffic::trace::{Spread, Trace, settled};

/// What to compare, and how often.
#[derive(Debug, Clone)]
pub struct AdaptOptions {
    /// Rounds. In each round and under each scheduler, every long flow begins once, and its IRQ
    /// moves once.
    pub rounds: u16,
    /// The schedulers, as for `ab`.
    pub arms: Vec<Arm>,
    /// Write all times to this file, as JSON.
    pub out: Option<PathBuf>,
    /// The traffic, and the programs beside it.
    pub workload: Workload,
    /// The guest.
    pub guest: GuestOptions,
}

/// All times under one scheduler, in milliseconds. `None` if the thread did not settle before the
/// next change, or the end.
#[derive(Debug, Serialize)]
struct Times {
    scheduler: String,
    /// From a flow's first bytes until its thread settled on NIC-local CPUs.
    new_flow_ms: Vec<Option<f64>>,
    /// From the first bytes that arrived on the other CPU until the thread settled there.
    moved_irq_ms: Vec<Option<f64>>,
    /// The traces that both were computed from.
    traces: Vec<Traced>,
}

/// The trace of one flow.
#[derive(Debug, Serialize)]
struct Traced {
    /// When its IRQ moved, by the clock of the trace.
    moved_at_ms: f64,
    seen: Trace,
}

/// Measures, prints a table.
///
/// # Errors
/// When a program fails in the guest, the kernel ejects a scheduler, or the guest's kernel logs a
/// complaint.
pub fn run(mut options: AdaptOptions) -> Result<()> {
    options.workload.check()?;
    options.workload.check_own("lab adapt")?;
    options.workload.check_traced()?;
    options.guest.check_one_nic("lab adapt")?;
    ensure!(
        options.arms.iter().all(|arm| arm.tunings.is_empty()),
        "lab adapt moves the IRQs itself and changes no other settings: remove the settings (after +) \
         from --arms"
    );
    arm::check_programs(&options.arms, &options.guest.programs()?)?;
    options.workload.trace_long = true;
    let progress = Progress::rounds(options.rounds.into());
    let boot = || Bed::boot(&options.guest, &progress);
    let (mut bed, mut boots) = (boot()?, Boots::first());
    let new = |arm: &Arm| Times {
        scheduler: arm.name.clone(),
        new_flow_ms: Vec::new(),
        moved_irq_ms: Vec::new(),
        traces: Vec::new(),
    };
    let mut all: Vec<Times> = options.arms.iter().map(new).collect();
    for round in 0..options.rounds {
        for turn in 0..options.arms.len() {
            let which = (usize::from(round) + turn) % options.arms.len();
            progress.step(format!("round {}, {}", round + 1, options.arms[which].name));
            // Other ports than the previous sample used, and all below 65536.
            let nth = usize::from(round) * options.arms.len() + turn;
            let port = 20_000 + 100 * (nth % 300) as u16;
            let (traces, moved_at_ms) = boots.run(&mut bed, &progress, boot, |bed| {
                let traced = bed.one(&options.arms[which], &options.workload, port);
                bed.guest.survive(traced)?
            })?;
            add(&mut all[which], traces, moved_at_ms, &bed.facts);
        }
        progress.advance();
    }
    let complaints = bed.guest.complaints()?;
    ensure!(complaints.is_empty(), "the guest's kernel complains: {}", complaints.join(" | "));
    drop(progress);
    print(&all);
    if let Some(path) = &options.out {
        let record = serde_json::json!({
            "version": 2,
            "subject_version": concat!("scx_steer ", env!("CARGO_PKG_VERSION")),
            "kernel": bed.guest.release,
            "rounds": options.rounds,
            "times": all,
        });
        fs::write(path, serde_json::to_string_pretty(&record)? + "\n")
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Where rounds run.
struct Bed {
    guest: Guest,
    facts: Facts,
    wheel: Wheel,
}

impl AsRef<Guest> for Bed {
    fn as_ref(&self) -> &Guest {
        &self.guest
    }
}

impl Bed {
    fn boot(options: &GuestOptions, progress: &Progress) -> Result<Self> {
        let mut guest = Guest::boot(options, None, progress)?;
        let facts = Facts::read(&mut guest.link, &guest.net)?;
        ensure!(
            facts.nics[0].cpus.len() > 1,
            "the NIC's node has only one CPU: IRQs have no other CPU to move to"
        );
        let wheel = Wheel::new(&mut guest.link, &guest.net, &facts)?;
        Ok(Self { guest, facts, wheel })
    }

    /// One round under one scheduler: the traces, and when the IRQs moved, by the guest's clock.
    fn one(
        &mut self,
        arm: &Arm,
        workload: &Workload,
        source_port: u16,
    ) -> Result<(Vec<Trace>, f64)> {
        let Self { guest, facts, wheel } = self;
        wheel.turn(Steering::Hash, &mut guest.link, &guest.net, facts)?;
        if let Some(command) = &arm.scheduler {
            scheduler::load(&mut guest.link, command)?;
        }
        let layout = Layout::of_guest(facts);
        let window = Instant::now() + workload.warmup();
        let programs = programs::serve(&mut guest.link, &layout, arm, workload, window)?;
        let traffic = Generators::start(&guest.net, workload, workload.warmup(), source_port)?;
        thread::sleep(workload.warmup() + workload.duration() / 2);
        let moved_at_ms = move_irqs(guest, facts)?;
        traffic.finish(&guest.net)?;
        let mut said = String::new();
        for program in &programs {
            let stopped = guest.link.stop(program);
            said += &stopped.with_context(|| format!("stopping {program}"))?.stdout;
        }
        if arm.scheduler.is_some() {
            scheduler::unload(&mut guest.link, libc::SIGINT)?;
        }
        let (traces, flows) = (Trace::all(&said), usize::from(workload.long_flows));
        ensure!(
            traces.len() == flows,
            "the server traced {} long flows instead of {flows}: raise --warmup",
            traces.len()
        );
        Ok((traces, moved_at_ms))
    }
}

/// Moves each queue's IRQ to the next CPU of the NIC's node. Returns the moment before, in
/// milliseconds of the guest's monotonic clock, accurate to 10 ms.
fn move_irqs(guest: &mut Guest, facts: &Facts) -> Result<f64> {
    let Nic { cpus, queue_irqs, .. } = &facts.nics[0];
    let moves = queue_irqs.iter().map(|irq| {
        let cpu = cpus[(irq.queue + 1) % cpus.len()];
        format!(" && echo {cpu} > {}", affinity_path(irq.irq))
    });
    let script = format!("cat /proc/uptime{}", moves.collect::<String>());
    let done = guest.link.run(&["sh", "-c", &script], Duration::from_secs(60))?;
    ensure!(done.success(), "cannot move the IRQs: {}", done.last_words());
    let uptime = done.stdout.split(' ').next().and_then(|seconds| seconds.parse::<f64>().ok());
    uptime.map(|seconds| seconds * 1e3).with_context(|| format!("no uptime: {:?}", done.stdout))
}

fn add(times: &mut Times, traces: Vec<Trace>, moved_at_ms: f64, facts: &Facts) {
    let near = facts.local_cpus();
    for trace in traces {
        let local = settled(trace.until(moved_at_ms), |seen| near.contains(&seen.cpu));
        times.new_flow_ms.push(local);
        // Before the first packet on the new CPU, there is nothing to follow.
        let home = trace.until(moved_at_ms).last().map(|seen| seen.packets_on);
        let after = trace.from(moved_at_ms);
        let arrived = after.iter().position(|seen| Some(seen.packets_on) != home);
        let after = arrived.map_or(&[][..], |first| &after[first..]);
        times.moved_irq_ms.push(settled(after, |seen| seen.cpu == seen.packets_on));
        times.traces.push(Traced { moved_at_ms, seen: trace });
    }
}

/// Prints one line per scheduler and change.
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
            let spread = Spread::of(of(times));
            let ms = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.1}"));
            println!(
                "{change:<10} {:<14} {:>5} {:>8} {:>8} {:>8}  {}",
                times.scheduler,
                spread.settled,
                ms(spread.p50),
                ms(spread.p90),
                ms(spread.max),
                spread.never
            );
        }
    }
}
