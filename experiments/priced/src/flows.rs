//! TCP flows into one CPU of a machine, with their softirq on it or on another. Three nodes of two
//! CPUs: 0 and 1; 2 and 3, with the NIC; 4 and 5 drive the traffic.

use std::fmt;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use steer_ground::progress::Progress;
use steer_ground::word::Word;
use steer_lab::shape::{Nics, Shape};
use steer_traffic::long::Reads;

use crate::bench::{Bench, BenchOptions};
use crate::guest::{Said, Task};
use crate::hardware::{Hardware, NO_WATCHDOGS, Network, Pace, Wire};
use crate::machine::Machine;
use crate::marks::{Cpu, MEASURED, Mark};

const TEST: &str = include_str!("../guest/flow.sh");
const SHAPE: Shape = Shape { sockets: 2, cores: 2, threads: 1 };
const NODE_MIB: u32 = 768;
/// CPUs in use that neither softirq nor threads ran on, at most: what kernel threads take.
const MOST_ELSEWHERE: f64 = 0.1;
/// Linux's own largest receive buffer, in KiB (`tcp_rmem`).
const RECEIVE_KIB: u32 = 6 << 10;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Case {
    /// The CPU of the softirq.
    pub(crate) softirq: usize,
    /// The CPU of the flows' processes.
    pub(crate) thread: usize,
    /// What becomes of a long flow's data. To discard it saves more than zero-copy does.
    pub(crate) reads: Reads,
    /// Flows that send without end.
    pub(crate) long: u32,
    /// Connections that send requests, each when it has its reply.
    pub(crate) short: u32,
    /// Size of requests and replies, in KiB.
    pub(crate) short_kib: u32,
    /// The largest receive buffer, in KiB.
    pub(crate) receive_kib: u32,
}

/// How it is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    /// Largest packet.
    pub(crate) mtu: u32,
    /// The NIC's receive buffers.
    pub(crate) ring: u32,
    /// Time of the guest before the measured one, in ms: caches and windows settle.
    pub(crate) warm_ms: u32,
    /// Measured time of the guest, in ms.
    pub(crate) span_ms: u32,
}

/// One case, measured once.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Flows {
    pub(crate) machine: String,
    pub(crate) mtu: u32,
    pub(crate) ring: u32,
    pub(crate) seed: u32,
    #[serde(flatten)]
    pub(crate) case: Case,
    /// Bytes of the long flows, in Gb/s.
    pub(crate) long_gbits_per_s: f64,
    /// Bytes of requests, in Gb/s.
    pub(crate) short_gbits_per_s: f64,
    /// All bytes, in Gb per CPU-second of the CPUs that softirq and threads ran on.
    pub(crate) gbits_per_core: f64,
    /// CPUs in use, of these.
    pub(crate) busy: f64,
    /// Share of that time in which they waited for memory.
    pub(crate) stalled: f64,
    /// CPUs in use, of the other measured ones.
    pub(crate) elsewhere: f64,
}

/// What `guest/flow.c` prints.
#[derive(Debug, Deserialize)]
struct Received {
    long_bytes: f64,
    short_bytes: f64,
    ns: f64,
}

impl Case {
    /// One long flow.
    pub(crate) const fn one_flow(softirq: usize, thread: usize) -> Self {
        let (reads, short_kib, receive_kib) = (Reads::Copy, 4, RECEIVE_KIB);
        Self { softirq, thread, reads, long: 1, short: 0, short_kib, receive_kib }
    }
}

/// As the guest's script reads it.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { softirq, thread, reads, long, short, short_kib, receive_kib } = self;
        let reads = reads.word();
        write!(f, "{softirq}-{thread}-{reads}-{long}-{short}-{short_kib}-{receive_kib}")
    }
}

impl Flows {
    /// All bytes, in Gb/s.
    pub(crate) fn gbits_per_s(&self) -> f64 {
        self.long_gbits_per_s + self.short_gbits_per_s
    }
}

/// What a guest measures: a machine, how, and the cases.
pub(crate) type Guest<'a> = (&'a Machine, Setup, &'a [Case]);

/// Measures all cases of these guests, with each seed from 0; in the order in which guests end.
///
/// # Errors
/// When a guest fails.
pub(crate) fn run(guests: &[Guest<'_>], seeds: u32, options: &BenchOptions) -> Result<Vec<Flows>> {
    let progress = Progress::rounds(guests.len() as u64 * u64::from(seeds));
    let bench = Bench::new(options, &progress)?;
    let runs = guests.iter().flat_map(|&guest| (0..seeds).map(move |seed| (guest, seed)));
    let tasks = runs.map(|it @ (guest, seed)| (it, task(guest, seed, &bench)));
    let mut flows = Vec::new();
    bench.run(tasks, &progress, |(guest, seed), name, said| {
        flows.extend(measured(guest, seed, &said).with_context(|| name.to_owned())?);
        Ok(())
    })?;
    Ok(flows)
}

/// A guest that measures all cases, one after the other.
fn task<'a>((machine, setup, cases): Guest<'a>, seed: u32, bench: &Bench) -> Task<'a> {
    let network =
        Network { nics: Nics::LastNode, queues: 1, steering: Wire::Hash, ring: setup.ring };
    let hardware = Hardware {
        machine,
        shape: SHAPE,
        node_mib: NODE_MIB,
        network: Some(network),
        pace: Pace::PRICED,
        kernel_words: NO_WATCHDOGS,
    };
    let names: Vec<String> = cases.iter().map(Case::to_string).collect();
    Task {
        name: format!("flow {}, MTU {}, seed {seed}", machine.id, setup.mtu),
        hardware,
        test: TEST,
        words: vec![
            ("mtu", setup.mtu.to_string()),
            ("seed", seed.to_string()),
            ("warm_ms", setup.warm_ms.to_string()),
            ("span_ms", setup.span_ms.to_string()),
            ("client_cpu", hardware.clients().start.to_string()),
            ("cases", names.join(" ")),
        ],
        programs: ["calibrate", "flow"].map(|name| bench.tools.program(name)).into(),
        files: &[],
        profile: false,
        layout: 0,
    }
}

/// The cases of one guest. The receiver marks the span that it measures.
///
/// # Errors
/// When the guest did not say it, or CPUs were in use that should be idle.
fn measured((machine, setup, cases): Guest<'_>, seed: u32, said: &Said) -> Result<Vec<Flows>> {
    let marks = said.marks.iter().filter(|mark| mark.mark == MEASURED);
    let flows = |(case, mark): (&Case, &Mark)| {
        let line = said.part(&case.to_string())?;
        let received: Received = serde_json::from_str(line.trim()).context("reading the flows")?;
        let Case { softirq, thread, .. } = *case;
        let cpus: &[usize] = if softirq == thread { &[softirq] } else { &[softirq, thread] };
        let sum = |of: fn(&Cpu) -> f64| cpus.iter().map(|&cpu| of(&mark.cpus[cpu])).sum::<f64>();
        let (busy_s, stall_s) = (sum(|cpu| cpu.busy_s()), sum(|cpu| cpu.stall_s()));
        let all_s: f64 = mark.cpus[..SHAPE.cpus()].iter().map(Cpu::busy_s).sum();
        let elsewhere = (all_s - busy_s) / mark.seconds();
        ensure!(elsewhere < MOST_ELSEWHERE, "{case}: other CPUs were in use ({elsewhere:.2})");
        let (long, short) = (8.0 * received.long_bytes, 8.0 * received.short_bytes);
        Ok(Flows {
            machine: machine.id.clone(),
            mtu: setup.mtu,
            ring: setup.ring,
            seed,
            case: *case,
            long_gbits_per_s: long / received.ns,
            short_gbits_per_s: short / received.ns,
            gbits_per_core: (long + short) / 1e9 / busy_s,
            busy: busy_s / mark.seconds(),
            stalled: stall_s / busy_s,
            elsewhere,
        })
    };
    cases.iter().zip(marks).map(flows).collect()
}
