//! One sample: one arm's scheduler, the server, the hogs, the traffic, the observer and the
//! measurement of the CPUs, all for one window of time, and then the machine as it was before.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::arm::Arm;
use super::bed::Bed;
use super::layout::Layout;
use super::tuning::{self, Tuned};
use super::workload::{WorkloadArgs, words};
use super::{cpu, scheduler};
use crate::guest::{Link, Silent};
use crate::result::CpuRecord;
use crate::traffic::long::Completed;

/// For programs that only have to bind, or to attach, in an emulated guest.
const START: Duration = Duration::from_secs(60);
/// Between the observer's attaching and the traffic's warm-up: for the server and the hogs to
/// start. What they leave of it is added to the warm-up, so that the windows begin together.
const SET_UP: Duration = Duration::from_secs(4);
/// How far apart the windows of client and observer may begin.
const APART: Duration = Duration::from_millis(500);
const OBSERVER: &str = "observer";
const SERVER: &str = "server";

/// What a sample gives.
pub(super) struct Measured {
    /// The observer's report.
    pub(super) observe: Value,
    /// The client's report.
    pub(super) client: Value,
    /// What the CPUs did, if that could be measured.
    pub(super) cpu: Option<CpuRecord>,
    /// Doubts about this sample.
    pub(super) doubts: Vec<String>,
}

/// Takes one sample; what the arm sets for it is put back, whatever comes of it.
///
/// # Errors
/// When a program fails, the scheduler is thrown out, a guest's kernel complains, or a setting does
/// not go back.
pub(super) fn take(
    bed: &mut dyn Bed,
    arm: &Arm,
    workload: &WorkloadArgs,
    source_port: u16,
) -> Result<Measured> {
    let tuned = Tuned::apply(bed.link(), &arm.tunings)?;
    match measure(bed, arm, workload, source_port) {
        Ok(mut measured) => {
            measured.doubts.extend(tuned.undo(bed.link())?);
            Ok(measured)
        }
        // whoever does not answer takes its settings along
        Err(error) if error.is::<Silent>() => Err(error),
        Err(error) => Err(tuning::with(error, tuned.undo(bed.link()))),
    }
}

/// Measures. The observer attaches before there is traffic and leaves after it: switching
/// tracepoints on and off patches code that every packet runs through.
fn measure(
    bed: &mut dyn Bed,
    arm: &Arm,
    workload: &WorkloadArgs,
    source_port: u16,
) -> Result<Measured> {
    let loaded = match &arm.scheduler {
        Some(argv) => Some(scheduler::load(bed.link(), argv)?),
        None => None,
    };
    let layout = bed.layout().clone();
    let window = attach(bed.link(), workload)?;
    let cpu = cpu::open(bed.link(), window, workload.duration(), START);
    let programs = serve(bed.link(), &layout, arm, workload)?;
    let warmup = window.saturating_duration_since(Instant::now());
    let (client, warm) = bed.drive(workload, warmup, source_port)?;
    ensure!(
        scheduler::in_force(bed.link())? == loaded,
        "the scheduler was thrown out during the sample: {}",
        bed.link().read("/sys/kernel/sched_ext/state")?
    );
    let mut doubts = Vec::new();
    for program in &programs {
        let ended = bed.link().stop(program).with_context(|| format!("stopping {program}"))?;
        if program == SERVER {
            let lines = ended.stderr.lines();
            let lines = lines.map(|line| line.strip_prefix("steer-bench: ").unwrap_or(line));
            doubts.extend(lines.map(|line| format!("the server: {line}")));
        }
    }
    doubts.extend(copied(&client).map(|doubt| format!("the client: {doubt}")));
    let observe = detach(bed.link())?;
    let cpu = cpu.and_then(|()| cpu::close(bed.link()));
    if loaded.is_some() {
        scheduler::unload(bed.link(), libc::SIGINT)?;
    }
    doubts.extend(bed.afterwards()?);
    doubts.extend(apart(window, warm));
    // The other figures do not need it, and not every kernel has performance events.
    let cpu = cpu.map_err(|why| doubts.push(format!("what the CPUs did is not known: {why:#}")));
    Ok(Measured { observe, client, cpu: cpu.ok(), doubts })
}

/// Attaches the observer; gives the moment at which its window begins.
fn attach(link: &mut Link, workload: &WorkloadArgs) -> Result<Instant> {
    let lead = SET_UP + workload.warmup();
    let argv = format!(
        "scx_steer observe --lead {} --duration {} --tail {} --json",
        lead.as_secs(),
        workload.duration().as_secs(),
        START.as_secs()
    );
    link.spawn(OBSERVER, &words(&argv))?;
    link.expect(OBSERVER, "observing", START)?;
    Ok(Instant::now() + lead)
}

/// Ends the observer; gives its report.
fn detach(link: &mut Link) -> Result<Value> {
    let finished = link.stop(OBSERVER)?;
    ensure!(finished.success(), "the observer failed: {}", finished.last_words());
    serde_json::from_str(&finished.stdout).context("reading the observer's report")
}

/// Whether the windows began too far apart.
fn apart(observer: Instant, client: Instant) -> Option<String> {
    let late = client.saturating_duration_since(observer);
    let early = observer.saturating_duration_since(client);
    let apart = late.max(early);
    (apart > APART).then(|| {
        format!("the windows of observer and client began {:.1} s apart", apart.as_secs_f64())
    })
}

/// Whether what the client was to send without a copy was copied.
fn copied(client: &Value) -> Option<String> {
    let completed = Completed::deserialize(client.pointer("/long/zerocopy")?);
    completed.ok()?.doubt()
}

/// Starts what serves and what disturbs; gives the names of the programs.
fn serve(
    link: &mut Link,
    layout: &Layout,
    arm: &Arm,
    workload: &WorkloadArgs,
) -> Result<Vec<String>> {
    let mut programs = Vec::new();
    let mut start = |name: String, argv: Vec<String>, ready: &str| {
        link.spawn(&name, &argv)?;
        link.expect(&name, ready, START).with_context(|| format!("starting {name}"))?;
        programs.push(name);
        anyhow::Ok(())
    };
    start(SERVER.to_owned(), workload.server(arm.pinned, layout), "ready")?;
    for (flow, argv) in workload.iperf_servers(arm.pinned, layout).into_iter().enumerate() {
        start(format!("iperf3-{flow}"), argv, "Server listening")?;
    }
    let hogs = workload.hogs(layout);
    if !hogs.is_empty() {
        let sets: String = hogs.iter().map(|cpus| format!(" --cpus {cpus}")).collect();
        start("hogs".to_owned(), words(&format!("steer-bench hog{sets}")), "ready")?;
    }
    Ok(programs)
}
