//! One sample: one arm's scheduler, the server, the hogs, the traffic, the observer and the
//! measurement of the CPUs, all for one window of time, and then the machine as it was before.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
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
use crate::traffic::client::ClientReport;
use crate::traffic::hog;
use crate::traffic::long::Completed;

/// For programs that only have to bind, or to attach, in an emulated guest.
const START: Duration = Duration::from_secs(60);
/// Between the observer's attaching and the traffic's warm-up: for the server and the hogs to
/// start. What they leave of it is added to the warm-up, so that the windows begin together.
const SET_UP: Duration = Duration::from_secs(4);
/// How far apart the windows of client and observer may begin.
const APART: Duration = Duration::from_millis(500);
/// How often a program that starts is looked at.
const LOOK: Duration = Duration::from_millis(100);
const OBSERVER: &str = "observer";
const SERVER: &str = "server";
const HOGS: &str = "hogs";

/// What a sample gives.
pub(super) struct Measured {
    /// The observer's report.
    pub(super) observe: Value,
    /// The client's report.
    pub(super) client: Value,
    /// Spins of the hogs per second, if there were any.
    pub(super) hog_rate: Option<f64>,
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
    let tuned = Tuned::apply(bed, &arm.tunings)?;
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
    let cpu = cpu::open(bed.link(), window, workload.duration(), tail(workload));
    let programs = serve(bed.link(), &layout, arm, workload, window)?;
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
        "the scheduler was thrown out during the sample: {}",
        bed.link().read("/sys/kernel/sched_ext/state")?
    );
    let mut doubts = Vec::new();
    let mut hog_rate = None;
    for program in &programs {
        let ended = bed.link().stop_within(program, tail(workload));
        let ended = ended.with_context(|| format!("stopping {program}"))?;
        if program == HOGS {
            let spins = spins(&ended.stdout)
                .with_context(|| format!("the hogs did not count: {}", ended.last_words()))?;
            hog_rate = Some(spins / workload.duration().as_secs_f64());
        }
        if [SERVER, HOGS].contains(&program.as_str()) {
            let lines = ended.stderr.lines();
            let lines = lines.map(|line| line.strip_prefix("steer-bench: ").unwrap_or(line));
            doubts.extend(lines.map(|line| format!("the {program}: {line}")));
        }
    }
    doubts.extend(copied(&client).map(|doubt| format!("the client: {doubt}")));
    doubts.extend(strayed(&client));
    let observe = detach(bed.link())?;
    let cpu = cpu.and_then(|()| cpu::close(bed.link()));
    if loaded.is_some() {
        scheduler::unload(bed.link(), libc::SIGINT)?;
    }
    doubts.extend(bed.afterwards()?);
    doubts.extend(apart(window, warm));
    // The other figures do not need it, and not every kernel has performance events.
    let cpu = cpu.map_err(|why| doubts.push(format!("what the CPUs did is not known: {why:#}")));
    Ok(Measured { observe, client, hog_rate, cpu: cpu.ok(), doubts })
}

/// Attaches the observer; gives the moment at which its window begins.
fn attach(link: &mut Link, workload: &WorkloadArgs) -> Result<Instant> {
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

/// How long the observer and the measurement of the CPUs stay at the most, and the server takes to end:
/// until all connections are closed. An emulated guest closed 5000 of 300,000 in a second.
fn tail(workload: &WorkloadArgs) -> Duration {
    START + workload.connecting()
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

/// What the hogs said that they did.
fn spins(said: &str) -> Option<f64> {
    said.lines().find_map(|line| line.strip_prefix(hog::SPINS)?.parse().ok())
}

/// Whether what the client was to send without a copy was copied.
fn copied(client: &Value) -> Option<String> {
    let completed = Completed::deserialize(client.pointer("/long/zerocopy")?);
    completed.ok()?.doubt()
}

/// Whether another program than our client measured RPCs for another time.
fn strayed(client: &Value) -> Option<String> {
    let report = ClientReport::deserialize(client).ok()?;
    report.rpc?.doubt(report.duration_s)
}

/// How a program shows that it is ready.
enum Ready {
    /// By a line that it prints.
    Says(&'static str),
    /// By nothing but listening on a port.
    Listens(u16),
}

impl Ready {
    fn wait(&self, link: &mut Link, name: &str) -> Result<()> {
        let port = match self {
            Self::Says(line) => return link.expect(name, line, START),
            Self::Listens(port) => *port,
        };
        let deadline = Instant::now() + START;
        while !listens(&link.read("/proc/net/tcp")?, port) {
            if let Some(ended) = link.ended(name, LOOK)? {
                bail!("it ended (code {:?}): {}", ended.code, ended.last_words());
            }
            ensure!(Instant::now() < deadline, "it did not listen on port {port} within {START:?}");
        }
        Ok(())
    }
}

/// Whether somebody listens on an IPv4 port, by /proc/net/tcp.
fn listens(sockets: &str, port: u16) -> bool {
    let local = format!(":{port:04X}");
    sockets.lines().any(|line| {
        // Number, local address, remote address, state.
        let mut words = line.split_whitespace().skip(1);
        let here = words.next().is_some_and(|address| address.ends_with(&local));
        here && words.nth(1) == Some("0A")
    })
}

/// Starts what serves and what disturbs; gives the names of the programs.
pub(super) fn serve(
    link: &mut Link,
    layout: &Layout,
    arm: &Arm,
    workload: &WorkloadArgs,
    window: Instant,
) -> Result<Vec<String>> {
    let mut programs = Vec::new();
    let mut start = |name: String, argv: Vec<String>, ready: Ready| {
        link.spawn(&name, &argv)?;
        ready.wait(link, &name).with_context(|| format!("starting {name}"))?;
        programs.push(name);
        anyhow::Ok(())
    };
    start(SERVER.to_owned(), workload.server(arm.pinned, layout), Ready::Says("ready"))?;
    for (flow, argv) in workload.iperf_servers(arm.pinned, layout).into_iter().enumerate() {
        start(format!("iperf3-{flow}"), argv, Ready::Says("Server listening"))?;
    }
    for server in workload.rpc_servers(arm.pinned, layout)? {
        start(server.name, server.argv, Ready::Listens(server.port))?;
    }
    let lead = window.saturating_duration_since(Instant::now());
    if let Some(argv) = workload.hogs(layout, lead) {
        start(HOGS.to_owned(), argv, Ready::Says("ready"))?;
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hogs_say_what_they_did() {
        assert_eq!(spins("ready\nspins: 17\n"), Some(17.0));
        assert_eq!(spins("ready\n"), None);
    }

    #[test]
    fn a_listener_is_told_from_a_connection() {
        let sockets = "  sl  local_address rem_address   st tx_queue rx_queue\n\
            \x20  0: 00000000:18EB 00000000:0000 0A 00000000:00000000 00:00000000\n\
            \x20  1: 0100007F:1F90 0100007F:18EC 01 00000000:00000000 00:00000000\n";
        assert!(listens(sockets, 6379));
        assert!(!listens(sockets, 8080), "connected");
        assert!(!listens(sockets, 6380), "the other end");
    }
}
