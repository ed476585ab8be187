//! The client's threads, and the thread that measures them. It starts them, advances the phase,
//! samples the long flows at both ends of the measured time, and collects what the threads report.
//! Every wait here is bounded.

use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hdrhistogram::Histogram;
use indicatif::ProgressBar;

use super::connect::{Opening, Route, routes};
use super::histogram::new_histogram;
use super::long::End;
use super::mark::{Mark, stage_reports};
use super::options::ClientOptions;
use super::phase::{Phase, PhaseCell};
use super::progress::progress_bar;
use super::report::{ClientReport, LongReport, RpcReport};
use super::rpc::{self, Called, Caller};
use super::talk::Protocol;
use super::tcp_info::{bytes_acked, bytes_received};
use super::turns::Turns;
use crate::LOOK;
use crate::files;
use crate::long::{Completions, Demand, Direction};
use crate::stage;

/// Longest time from the end of the run to the end of its threads.
const GRACE: Duration = rpc::DRAIN.saturating_add(Duration::from_secs(5));

/// What a thread reports.
enum Said {
    /// All its connections are open.
    Open,
    /// The thread ends. Carries what an RPC thread measured; empty for other threads.
    Ended(Called, Result<()>),
}

/// The running traffic.
pub(super) struct Crew {
    phase: Arc<PhaseCell>,
    /// The long flows, to ask the kernel how many bytes they moved.
    flows: Vec<Arc<TcpStream>>,
    direction: Direction,
    /// What the kernel reports about zero-copy sends, if they are used.
    completions: Option<Arc<Completions>>,
    said: Receiver<Said>,
    running: usize,
    /// RPC threads whose connections are open.
    open: usize,
    /// Latencies of the RPCs that began in each stage.
    latencies: Vec<Histogram<u64>>,
    /// Round-trip times of some RPC connections.
    rtts_us: Vec<u32>,
    errors: Vec<String>,
}

impl Crew {
    /// Opens all connections, and starts a thread per long flow and a few for the RPC connections.
    ///
    /// # Errors
    /// When a connection cannot be opened, or the process runs out of threads or descriptors.
    pub(super) fn start(options: &ClientOptions) -> Result<Self> {
        let (long, rpc) = routes(options)?;
        let opening = Arc::new(Opening::begin(options));
        let callers = Callers::of(options)?;
        let (report, said) = mpsc::channel();
        let (long_flows, rpc_connections) = (options.long_by_stage(), options.rpc_by_stage());
        let stages = long_flows.len();
        let mut crew = Self {
            phase: Arc::new(PhaseCell::new(long_flows, rpc_connections)),
            flows: opening.long(long)?.into_iter().map(Arc::new).collect(),
            direction: options.long_direction,
            completions: options.long_zerocopy.then(Arc::default),
            said,
            running: 0,
            open: 0,
            latencies: vec![new_histogram(); stages],
            rtts_us: Vec::new(),
            errors: Vec::new(),
        };
        let go = Arc::new(Barrier::new(callers.threads + 1));
        crew.start_callers(options, &callers, rpc, &opening, &go, &report)?;
        while crew.open < callers.threads && crew.errors.is_empty() {
            crew.hear(LOOK);
        }
        opening.end();
        if let Some(error) = crew.errors.pop() {
            bail!(error);
        }
        crew.start_flows(options, &report)?;
        go.wait();
        Ok(crew)
    }

    fn start_flows(&mut self, options: &ClientOptions, report: &Sender<Said>) -> Result<()> {
        let end = match self.direction {
            Direction::In => End::Source(self.completions.clone()),
            Direction::Out => End::Sink,
        };
        let (rate, chunk) = (options.long_rate, options.long_chunk.bytes());
        let interval = rate.time_for(chunk).unwrap_or_default();
        let start = Instant::now();
        for (index, flow) in (0..).zip(&self.flows) {
            // Shift the flows evenly, so that chunks of equal flows do not always collide.
            let first = interval * u32::from(index) / self.flows.len() as u32;
            let demand = Demand::new(rate, chunk, first)?;
            let (end, flow) = (end.clone(), Arc::clone(flow));
            let (phase, report) = (Arc::clone(&self.phase), report.clone());
            self.running += 1;
            spawn(format!("long-{index}"), move || {
                let result = end.run(index, &flow, &demand, start, &phase);
                let result = result.with_context(|| format!("long flow {index}"));
                // Sending fails only if the client has already given up on its threads.
                drop(report.send(Said::Ended(Called::default(), result)));
            })?;
        }
        Ok(())
    }

    fn start_callers(
        &mut self,
        options: &ClientOptions,
        callers: &Callers,
        routes: Vec<Route>,
        opening: &Arc<Opening>,
        go: &Arc<Barrier>,
        report: &Sender<Said>,
    ) -> Result<()> {
        let (every, all) = (options.think_time(), options.most_rpc());
        let (protocol, size) = (options.rpc_protocol, options.rpc_size.bytes() as usize);
        let (stages, own_files) = (self.latencies.len(), callers.own_files);
        for (index, share) in (0..).zip(deal(routes, callers.threads)) {
            let (opening, go) = (Arc::clone(opening), Arc::clone(go));
            let (phase, report) = (Arc::clone(&self.phase), report.clone());
            self.running += 1;
            spawn(format!("rpc-{index}"), move || {
                let open = || {
                    if own_files {
                        // SAFETY: the thread opens only its connections and their epoll set, and
                        // closes them itself. Nothing it shares with other threads has a
                        // descriptor.
                        unsafe { files::unshare() }?;
                        files::allow(share.len() as u64)?;
                    }
                    let connections = opening.rpc(share, protocol, size)?;
                    drop(report.send(Said::Open));
                    go.wait();
                    // Shift the threads' turns against each other, as the connections' turns are.
                    let start = |every: Duration| Instant::now() + every / all * index;
                    let count = connections.len() as u32;
                    let turns = every.map(|every| Turns::new(start(every), every, count));
                    Caller::new(connections, turns, stages)
                };
                match open() {
                    Ok(mut caller) => {
                        let (called, result) = caller.run(&phase);
                        // Report before closing the connections: closing many takes a while.
                        drop(report.send(Said::Ended(called, result)));
                    }
                    Err(error) => drop(report.send(Said::Ended(Called::default(), Err(error)))),
                }
            })?;
        }
        Ok(())
    }

    /// Lets the traffic warm up, measures it, and stops it. The first error ends the run early.
    pub(super) fn measure(mut self, options: &ClientOptions, warm_up: Duration) -> ClientReport {
        let duration = options.duration.duration();
        let milliseconds = (warm_up + duration).as_millis() as u64;
        let bar = progress_bar(milliseconds, "{msg:10} {bar:40} {elapsed}");
        let mut marks = Vec::new();
        if self.pass("warming up", warm_up, &bar) {
            self.phase.enter(Phase::Measure(0));
            let begun = Instant::now();
            marks.push(self.mark());
            bar.suspend(|| eprintln!("warm"));
            let stages = self.latencies.len();
            for next in 1..=stages {
                let end = begun + stage::begin(duration, next, stages);
                let on = self.pass("measuring", end - Instant::now(), &bar);
                if on && next < stages {
                    self.phase.enter(Phase::Measure(next as u8));
                }
                marks.push(self.mark());
                if !on {
                    break;
                }
            }
        }
        self.phase.enter(Phase::Drain);
        bar.finish_and_clear();
        self.hear_the_rest();
        self.report(options, &marks)
    }

    /// Waits for a span of time. False when something failed meanwhile.
    fn pass(&mut self, what: &'static str, span: Duration, bar: &ProgressBar) -> bool {
        let begun = Instant::now();
        let position = bar.position();
        bar.set_message(what);
        while self.errors.is_empty() && begun.elapsed() < span {
            self.hear(LOOK.min(span.saturating_sub(begun.elapsed())));
            bar.set_position(position + begun.elapsed().as_millis() as u64);
        }
        self.errors.is_empty()
    }

    /// Waits at most `limit` for a report of a thread. False when none came.
    fn hear(&mut self, limit: Duration) -> bool {
        let (called, result) = match self.said.recv_timeout(limit) {
            Err(_) => return false,
            Ok(Said::Open) => {
                self.open += 1;
                return true;
            }
            Ok(Said::Ended(called, result)) => (called, result),
        };
        self.running -= 1;
        if let Err(error) = result {
            self.errors.push(format!("{error:#}"));
        }
        self.rtts_us.extend(called.rtts_us);
        for (all, of_thread) in self.latencies.iter_mut().zip(called.latencies) {
            if let Err(error) = all.add(of_thread) {
                self.errors.push(format!("cannot merge latency histograms: {error}"));
            }
        }
        true
    }

    fn hear_the_rest(&mut self) {
        let deadline = Instant::now() + GRACE;
        while self.running > 0 {
            if !self.hear(deadline.saturating_duration_since(Instant::now())) {
                let late = format!("{} threads did not end within {GRACE:?}", self.running);
                self.errors.push(late);
                return;
            }
        }
    }

    /// Bytes each long flow has delivered so far.
    fn mark(&mut self) -> Mark {
        let at = Instant::now();
        let delivered = match self.direction {
            Direction::In => bytes_acked,
            Direction::Out => bytes_received,
        };
        let per_flow_bytes: Result<Vec<u64>, _> =
            self.flows.iter().map(|flow| delivered(flow)).collect();
        let per_flow_bytes = per_flow_bytes
            .inspect_err(|error| {
                let said = format!("cannot read how many bytes the long flows moved: {error}");
                self.errors.push(said);
            })
            .ok()
            .filter(|flows| !flows.is_empty());
        Mark { at, per_flow_bytes }
    }

    fn report(mut self, options: &ClientOptions, marks: &[Mark]) -> ClientReport {
        let span = match marks {
            [begin, .., end] => Some((begin, end)),
            _ => None,
        };
        let length = span.map(|(begin, end)| end.at - begin.at);
        let rpc = length.filter(|_| options.most_rpc() > 0).and_then(|length| {
            self.rpc_report(options, length)
                .inspect_err(|error| self.errors.push(format!("{error:#}")))
                .ok()
        });
        let moved = span.and_then(|(begin, end)| begin.moved(end));
        let long = length.zip(moved).map(|(length, moved)| {
            let completed = self.completions.as_ref().map(|completions| completions.so_far());
            LongReport::new(moved, length, completed)
        });
        ClientReport {
            version: ClientReport::VERSION,
            duration_s: length.unwrap_or_default().as_secs_f64(),
            long,
            rpc,
            stages: stage_reports(options, marks, &self.latencies),
            errors: self.errors,
        }
    }

    fn rpc_report(&self, options: &ClientOptions, length: Duration) -> Result<RpcReport> {
        let mut all = new_histogram();
        for latencies in &self.latencies {
            all.add(latencies).context("cannot merge latency histograms")?;
        }
        let report = RpcReport::new(options.most_rpc(), options.rpc_size.bytes(), &all, length)?;
        // A get has no payload.
        let asked = (options.rpc_protocol != Protocol::Own).then_some(0);
        Ok(RpcReport { request_size: asked, rtt_us: mean(&self.rtts_us), ..report })
    }
}

/// The mean of some numbers, if there are any.
fn mean(numbers: &[u32]) -> Option<f64> {
    let sum: u64 = numbers.iter().copied().map(u64::from).sum();
    (!numbers.is_empty()).then(|| sum as f64 / numbers.len() as f64)
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let context = format!("cannot start the thread {name}");
    thread::Builder::new().name(name).spawn(work).context(context)?;
    Ok(())
}

/// The threads that share the RPC connections.
struct Callers {
    threads: usize,
    /// Whether each thread has its own table of open files, because one table may not hold so many.
    own_files: bool,
}

impl Callers {
    /// Chooses the number of threads: at most four by default, because the client's machine has
    /// other work, and no thread without a connection. More if the limit of open files requires it.
    fn of(options: &ClientOptions) -> Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let (all, threads) = (options.most_rpc() as usize, options.rpc_threads.map(usize::from));
        let threads = threads.unwrap_or(cores.min(4)).min(all);
        match files::allow(all as u64) {
            Ok(()) => Ok(Self { threads, own_files: false }),
            Err(error) => match files::room() {
                0 => Err(error),
                room => Ok(Self { threads: threads.max(all.div_ceil(room)), own_files: true }),
            },
        }
    }
}

/// Deals the connections, with their numbers, to `hands` threads in turns.
fn deal(routes: Vec<Route>, hands: usize) -> Vec<Vec<(u32, Route)>> {
    let mut dealt: Vec<_> = (0..hands).map(|_| Vec::new()).collect();
    for (index, route) in (0..).zip(routes) {
        dealt[index as usize % hands].push((index, route));
    }
    dealt
}
