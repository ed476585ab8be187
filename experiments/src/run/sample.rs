//! One sample: one arm's scheduler, the server, the hogs, the traffic and the observer, all for
//! one window of time, and then the guest as it was before.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::arm::Arm;
use super::generator::Generators;
use super::scheduler;
use super::workload::{WorkloadArgs, words};
use crate::guest::Link;
use crate::lab::facts::Facts;
use crate::lab::guest::Guest;

/// For programs that only have to bind, or to attach, in an emulated guest.
const START: Duration = Duration::from_secs(60);
/// How far apart the windows of client and observer may begin.
const APART: Duration = Duration::from_millis(500);

/// What a sample gives.
pub(super) struct Measured {
    /// The observer's report.
    pub(super) observe: Value,
    /// The client's report.
    pub(super) client: Value,
    /// Doubts about this sample.
    pub(super) doubts: Vec<String>,
}

/// Takes one sample.
///
/// # Errors
/// When a program fails, the scheduler is thrown out, or the guest's kernel complains.
pub(super) fn take(
    guest: &mut Guest,
    facts: &Facts,
    arm: &Arm,
    workload: &WorkloadArgs,
    source_port: u16,
) -> Result<Measured> {
    let loaded = match &arm.scheduler {
        Some(argv) => Some(scheduler::load(&mut guest.link, argv)?),
        None => None,
    };
    let programs = serve(&mut guest.link, facts, arm, workload)?;
    let (observe, client, doubts) = observe(guest, workload, source_port)?;
    ensure!(
        scheduler::in_force(&mut guest.link)? == loaded,
        "the scheduler was thrown out during the sample: {}",
        guest.link.read("/sys/kernel/sched_ext/state")?
    );
    for program in &programs {
        guest.link.stop(program).with_context(|| format!("stopping {program}"))?;
    }
    if loaded.is_some() {
        scheduler::unload(&mut guest.link, libc::SIGINT)?;
    }
    let complaints = guest.complaints()?;
    ensure!(complaints.is_empty(), "the guest's kernel complains: {}", complaints.join(" | "));
    Ok(Measured { observe, client, doubts })
}

/// Starts what serves and what disturbs; gives the names of the programs.
fn serve(
    link: &mut Link,
    facts: &Facts,
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
    start("server".to_owned(), workload.server(arm.pinned, facts), "ready")?;
    for (flow, argv) in workload.iperf_servers(arm.pinned, facts).into_iter().enumerate() {
        start(format!("iperf3-{flow}"), argv, "---")?;
    }
    let hogs = workload.hogs(facts);
    if !hogs.is_empty() {
        let sets: String = hogs.iter().map(|cpus| format!(" --cpus {cpus}")).collect();
        start("hogs".to_owned(), words(&format!("steer-bench hog{sets}")), "ready")?;
    }
    Ok(programs)
}

/// Drives the traffic with the observer attached, so that their windows begin together: the
/// observer attaches while the client warms up. Both last equally long.
fn observe(
    guest: &mut Guest,
    workload: &WorkloadArgs,
    source_port: u16,
) -> Result<(Value, Value, Vec<String>)> {
    const OBSERVER: &str = "observer";
    let generators = Generators::start(&guest.net, workload, source_port)?;
    let seconds = workload.duration().as_secs();
    guest
        .link
        .spawn(OBSERVER, &words(&format!("scx_steer observe --duration {seconds} --json")))?;
    guest.link.expect(OBSERVER, "observing", START)?;
    let observing = Instant::now();
    let finished = guest.link.wait(OBSERVER, workload.duration() + START)?;
    ensure!(finished.success(), "the observer failed: {}", finished.last_words());
    let observe =
        serde_json::from_str(&finished.stdout).context("reading the observer's report")?;
    let (client, warm) = generators.finish()?;
    let late = observing.saturating_duration_since(warm);
    let doubts = (late > APART).then(|| {
        format!(
            "the observer began {:.1} s after the client's window; use --warmup with more seconds",
            late.as_secs_f64()
        )
    });
    Ok((observe, client, doubts.into_iter().collect()))
}
