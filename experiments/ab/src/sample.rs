//! One sample: runs one arm's scheduler, the server, the hogs, the traffic, the observer and the
//! measurement of the CPUs for one window of time. Then puts the machine back as it was.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::bed::Bed;
use super::cpu;
use super::tuning::{self, Tuned};
use steer_ground::text::words;
use steer_ground::warning::{Kind, Warning};
use steer_lab::agent::{Link, Silent};
use steer_result::{CpuRecord, ObserverReport};
use steer_scenario::arm::Arm;
use steer_scenario::programs::{self, HOGS, SERVER};
use steer_scenario::scheduler;
use steer_scenario::tuning::{NAMES, Tuning};
use steer_scenario::workload::Workload;
use steer_traffic::client::ClientReport;
use steer_traffic::hog;

/// Time for a program to bind or attach in an emulated guest.
const START: Duration = Duration::from_secs(60);
/// Time from attaching the observer to the traffic's warm-up, for the server and the hogs to start.
/// Time left over is added to the warm-up, so that the windows begin together.
const SET_UP: Duration = Duration::from_secs(4);
/// Largest distance between the beginnings of the client's and the observer's windows.
const APART: Duration = Duration::from_millis(500);
const OBSERVER: &str = "observer";

/// What a sample measured.
pub(super) struct Measured {
    /// The observer's report.
    pub(super) observe: ObserverReport,
    /// The client's report.
    pub(super) client: ClientReport,
    /// Spins of the hogs per second, if there were any.
    pub(super) hog_rate: Option<f64>,
    /// What the CPUs did, if that could be measured.
    pub(super) cpu: Option<CpuRecord>,
    /// Warnings about this sample.
    pub(super) warnings: Vec<Warning>,
}

/// Takes one sample. Puts the arm's settings back afterwards, even after an error.
///
/// # Errors
/// A program fails, the kernel ejects the scheduler, a guest's kernel complains, or a setting
/// cannot be put back.
pub(super) fn take(
    bed: &mut dyn Bed,
    arm: &Arm,
    workload: &Workload,
    source_port: u16,
) -> Result<Measured> {
    let tuned = tune(bed, &arm.tunings)?;
    match measure(bed, arm, workload, source_port) {
        Ok(mut measured) => {
            measured.warnings.extend(tuned.undo(bed.link())?);
            Ok(measured)
        }
        // If a guest does not answer, it is lost, and its settings with it.
        Err(error) if error.is::<Silent>() => Err(error),
        Err(error) => Err(tuning::with(error, tuned.undo(bed.link()))),
    }
}

/// Applies each setting of the arms once and puts it back. This shows before the first measurement
/// whether the machine supports it.
///
/// # Errors
/// `Unsupported`: the machine lacks one of them.
pub(super) fn rehearse(bed: &mut dyn Bed, arms: &[Arm]) -> Result<()> {
    for (name, tuning) in NAMES {
        if let Some(arm) = arms.iter().find(|arm| arm.tunings.contains(&tuning)) {
            tune(bed, &[tuning])
                .and_then(|tuned| tuned.undo(bed.link()))
                .with_context(|| format!("+{name} of the arm {}", arm.name))?;
        }
    }
    Ok(())
}

/// Applies the settings of an arm.
fn tune(bed: &mut dyn Bed, tunings: &[Tuning]) -> Result<Tuned> {
    let (nics, journal) = (bed.nics(), bed.journal());
    Tuned::apply(bed.link(), &nics, journal, tunings)
}

/// Measures. The observer attaches before the traffic and detaches after it, because switching
/// tracepoints patches code that every packet runs through.
fn measure(
    bed: &mut dyn Bed,
    arm: &Arm,
    workload: &Workload,
    source_port: u16,
) -> Result<Measured> {
    let loaded = match &arm.scheduler {
        Some(argv) => Some(scheduler::load(bed.link(), argv)?),
        None => None,
    };
    let layout = bed.layout().clone();
    let window = attach(bed.link(), workload)?;
    let cpu = cpu::open(bed.link(), window, workload.duration(), tail(workload));
    let programs = programs::serve(bed.link(), &layout, arm, workload, window)?;
    let warmup = window.saturating_duration_since(Instant::now());
    let driven = bed.drive(workload, warmup, source_port);
    let (client, warm) = driven.map_err(|error| match bed.link().so_far(SERVER) {
        Ok(said) if !said.stderr.is_empty() => {
            error.context(format!("the server said: {}", said.stderr.trim_end()))
        }
        _ => error,
    })?;
    ensure!(
        scheduler::in_force(bed.link())? == loaded,
        "the kernel ejected the scheduler during the sample: {}",
        bed.link().read("/sys/kernel/sched_ext/state")?
    );
    let mut warnings = Vec::new();
    let mut hog_rate = None;
    for program in &programs {
        let ended = bed.link().stop_within(program, tail(workload));
        let ended = ended.with_context(|| format!("stopping {program}"))?;
        if program == HOGS {
            let spins = hog::spins(&ended.stdout)
                .with_context(|| format!("the hogs printed no count: {}", ended.last_words()))?;
            hog_rate = Some(spins / workload.duration().as_secs_f64());
        }
        if [SERVER, HOGS].contains(&program.as_str()) {
            let lines = ended.stderr.lines();
            let lines = lines.map(|line| line.strip_prefix("steer-bench: ").unwrap_or(line));
            warnings.extend(
                lines.map(|line| {
                    Warning::new(Kind::ProgramMessage, format!("the {program}: {line}"))
                }),
            );
        }
    }
    warnings.extend(copied(&client));
    warnings.extend(strayed(&client));
    let observe = detach(bed.link())?;
    let cpu = cpu.and_then(|()| cpu::close(bed.link()));
    if loaded.is_some() {
        scheduler::unload(bed.link(), libc::SIGINT)?;
    }
    warnings.extend(bed.afterwards()?);
    warnings.extend(apart(window, warm));
    // The other figures do not need it, and not every kernel has performance events.
    let cpu = cpu.map_err(|why| {
        let text = format!("what the CPUs did is unknown: {why:#}");
        warnings.push(Warning::new(Kind::NoCpuFigures, text));
    });
    Ok(Measured { observe, client, hog_rate, cpu: cpu.ok(), warnings })
}

/// Attaches the observer. Returns the moment at which its window begins.
fn attach(link: &mut Link, workload: &Workload) -> Result<Instant> {
    let lead = SET_UP + workload.connecting() + workload.warmup();
    let argv = format!(
        "scx_steer observe --lead {} --duration {} --tail {} --json",
        lead.as_secs(),
        workload.duration().as_secs(),
        tail(workload).as_secs()
    );
    link.spawn(OBSERVER, &words(&argv))?;
    link.expect(OBSERVER, "observing", START)?;
    Ok(Instant::now() + lead)
}

/// The longest time that the observer and the measurement of the CPUs stay attached, and the
/// longest time for the server to end: it must close all connections. An emulated guest closed 5000
/// of 300,000 per second.
fn tail(workload: &Workload) -> Duration {
    START + workload.connecting()
}

/// Ends the observer, and returns its report.
fn detach(link: &mut Link) -> Result<ObserverReport> {
    let finished = link.stop(OBSERVER)?;
    ensure!(finished.success(), "the observer failed: {}", finished.last_words());
    serde_json::from_str(&finished.stdout).context("reading the observer's report")
}

/// Warns if the windows began too far from each other.
fn apart(observer: Instant, client: Instant) -> Option<Warning> {
    let late = client.saturating_duration_since(observer);
    let early = observer.saturating_duration_since(client);
    let apart = late.max(early);
    (apart > APART).then(|| {
        let apart = apart.as_secs_f64();
        let text = format!("the windows of observer and client began {apart:.1} s apart");
        Warning::new(Kind::WindowsApart, text)
    })
}

/// Warns if the kernel copied data in zero-copy sends.
fn copied(client: &ClientReport) -> Option<Warning> {
    let said = client.long.as_ref()?.zerocopy?.warning()?;
    Some(Warning::new(Kind::Copied, format!("the client: {said}")))
}

/// Warns if a load tool measured the RPCs for a different time than the sample took.
fn strayed(client: &ClientReport) -> Option<Warning> {
    let said = client.rpc.as_ref()?.warning(client.duration_s)?;
    Some(Warning::new(Kind::OtherDuration, said))
}
