//! The RPC load. A thread has several connections, with one request outstanding on each.
//! Connections run closed loops, or ask at fixed times. An RPC counts if it begins in the measured
//! phase, and its reply is awaited. Counting RPCs that end in that phase would hide the slow ones
//! at its end. The latency of a request that is due at a fixed time starts at that time, even if it
//! is sent later: otherwise a delayed client would hide the delay.

use std::mem;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hdrhistogram::Histogram;

use super::histogram::new_histogram;
use super::phase::{Phase, PhaseCell};
use super::talk::Talk;
use super::tcp_info::{is_unacknowledged, smoothed_rtt_us};
use super::turns::Turns;
use crate::LOOK;
use crate::poll::{Poller, Wants};
use crate::wire::Step;

/// Longest wait for outstanding RPCs.
pub(super) const DRAIN: Duration = Duration::from_secs(5);

/// Bytes sent or received at a time; messages up to this size need one call each way.
const SCRATCH: usize = 256 << 10;

/// A thread reads the round-trip time of at most this many connections.
const RTTS: usize = 250;
/// RPCs after which a connection's smoothed round-trip time reflects its RPCs. Each RPC contributes
/// an eighth, so earlier ones still reflect the handshake.
const SETTLED: u32 = 16;

/// How often connections that are inactive in a stage are checked.
const NAP: Duration = Duration::from_millis(5);

/// One client thread and its connections.
pub(super) struct Caller {
    poller: Poller,
    connections: Vec<Connection>,
    order: Order,
    /// Connections with an outstanding request.
    outstanding: usize,
    scratch: Vec<u8>,
    /// Latencies up to the last byte, in nanoseconds, by the stage that the RPC began in.
    latencies: Vec<Histogram<u64>>,
}

/// What a caller measured.
#[derive(Default)]
pub(super) struct Called {
    /// By stage.
    pub(super) latencies: Vec<Histogram<u64>>,
    /// Round-trip times of some connections at the end of the run.
    pub(super) rtts_us: Vec<u32>,
}

/// When connections ask.
enum Order {
    /// As soon as they have their reply. Connections that are inactive in a stage are listed.
    AtOnce { resting: Vec<u64> },
    /// At fixed times, in turns.
    InTurns(Turns),
}

impl Caller {
    /// A caller on open connections. Without turns, each asks at once. `stages` is the number of
    /// stages of the load.
    ///
    /// # Errors
    /// When the process runs out of descriptors.
    pub(super) fn new(
        connections: Vec<Connection>,
        turns: Option<Turns>,
        stages: usize,
    ) -> Result<Self> {
        let resting = (0..).take(connections.len()).collect();
        Ok(Self {
            poller: Poller::new().context("cannot create an epoll set")?,
            connections,
            order: turns.map_or(Order::AtOnce { resting }, Order::InTurns),
            outstanding: 0,
            scratch: vec![0; SCRATCH],
            latencies: vec![new_histogram(); stages],
        })
    }

    /// Calls until the run drains and all replies are in. Returns what was measured, even after an
    /// error.
    pub(super) fn run(&mut self, phase: &PhaseCell) -> (Called, Result<()>) {
        let result = self.open().and_then(|()| self.call(phase));
        (Called { rtts_us: self.rtts(), latencies: mem::take(&mut self.latencies) }, result)
    }

    /// The round-trip times of some connections that made enough RPCs.
    fn rtts(&self) -> Vec<u32> {
        let settled = self.connections.iter().filter(|connection| connection.asked >= SETTLED);
        let step = settled.clone().count().div_ceil(RTTS).max(1);
        let some = settled.step_by(step);
        some.filter_map(|connection| smoothed_rtt_us(&connection.stream).ok()).collect()
    }

    fn open(&mut self) -> Result<()> {
        for (connection, token) in self.connections.iter().zip(0..) {
            connection.stream.set_nonblocking(true)?;
            self.poller.add(&connection.stream, token, Wants::Read)?;
        }
        Ok(())
    }

    fn call(&mut self, phase: &PhaseCell) -> Result<()> {
        let mut ready = Vec::new();
        let mut draining_since = None;
        loop {
            let patience = match self.order {
                Order::AtOnce { .. } => self.ask_at_once(phase)?,
                Order::InTurns(_) => self.ask_in_turns(phase)?,
            };
            if phase.now() == Phase::Drain {
                if self.outstanding == 0 {
                    return Ok(());
                }
                let since = *draining_since.get_or_insert_with(Instant::now);
                if since.elapsed() > DRAIN {
                    bail!("{}", self.missing());
                }
            }
            self.poller.wait(&mut ready, Some(patience)).context("epoll_wait failed")?;
            for &token in &ready {
                self.advance(token, phase)?;
            }
        }
    }

    /// The message about replies that are missing after [`DRAIN`].
    fn missing(&self) -> String {
        let asking = self.connections.iter().filter(|connection| connection.current.is_some());
        let lost = asking.filter(|one| is_unacknowledged(&one.stream).is_ok_and(|lost| lost));
        format!(
            "{} RPCs had no reply {} s after the run; requests that did not reach the server's \
             kernel: {}",
            self.outstanding,
            DRAIN.as_secs(),
            lost.count()
        )
    }

    /// Lets inactive connections ask if they are active again. Returns the longest time to wait.
    fn ask_at_once(&mut self, phase: &PhaseCell) -> Result<Duration> {
        let Order::AtOnce { resting } = &mut self.order else { return Ok(LOOK) };
        let connections = &self.connections;
        let asks = |token: &mut u64| phase.connection_asks(connections[*token as usize].index);
        for token in resting.extract_if(.., asks).collect::<Vec<_>>() {
            self.ask(token, Instant::now(), phase)?;
        }
        Ok(match &self.order {
            Order::AtOnce { resting } if !resting.is_empty() => NAP,
            _ => LOOK,
        })
    }

    /// Lets the connections ask whose turn it is. Returns the longest time to wait.
    fn ask_in_turns(&mut self, phase: &PhaseCell) -> Result<Duration> {
        let now = Instant::now();
        loop {
            let Order::InTurns(turns) = &mut self.order else { return Ok(LOOK) };
            let Some((whose, due)) = turns.take(now) else {
                return Ok(LOOK.min(turns.due().saturating_duration_since(Instant::now())));
            };
            let connection = &self.connections[whose as usize];
            if connection.current.is_none() && phase.connection_asks(connection.index) {
                self.ask(whose.into(), due, phase)?;
            }
        }
    }

    /// Begins an RPC. Its latency counts from `begun`.
    fn ask(&mut self, token: u64, begun: Instant, phase: &PhaseCell) -> Result<()> {
        let stage = match phase.now() {
            Phase::Drain => return Ok(()),
            Phase::WarmUp => None,
            Phase::Measure(stage) => Some(stage),
        };
        let connection = &mut self.connections[token as usize];
        connection.current = Some(Call { begun, stage });
        connection.asked = connection.asked.saturating_add(1);
        self.outstanding += 1;
        self.advance(token, phase)
    }

    /// Sends and receives on one connection until its socket blocks.
    fn advance(&mut self, token: u64, phase: &PhaseCell) -> Result<()> {
        let connection = &mut self.connections[token as usize];
        let before = connection.waits_for;
        let replied = connection.advance(&mut self.scratch);
        let replied = replied.with_context(|| connection.name())?;
        if connection.waits_for != before {
            self.poller.change(&connection.stream, token, connection.waits_for)?;
        }
        let Some(call) = replied else { return Ok(()) };
        self.outstanding -= 1;
        if let Some(stage) = call.stage {
            let nanoseconds = u64::try_from(call.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.latencies[usize::from(stage)].saturating_record(nanoseconds);
        }
        if let Order::AtOnce { resting } = &mut self.order {
            if phase.connection_asks(connection.index) {
                return self.ask(token, Instant::now(), phase);
            }
            resting.push(token);
        }
        Ok(())
    }
}

/// One connection. It starts idle.
pub(super) struct Connection {
    /// Its number among all connections of the client.
    index: u32,
    stream: TcpStream,
    talk: Talk,
    /// What the poller waits for. While the connection is idle, that the server closes it.
    waits_for: Wants,
    /// Write while a request is sent, Read while its reply is received.
    wants: Wants,
    /// Bytes of the current message that are sent or received.
    done: usize,
    /// The outstanding RPC; `None` if there is none.
    current: Option<Call>,
    /// RPCs so far.
    asked: u32,
}

#[derive(Clone, Copy)]
struct Call {
    begun: Instant,
    /// The stage that it counts under; `None` if it does not count.
    stage: Option<u8>,
}

impl Connection {
    /// An open connection.
    pub(super) fn new(index: u32, stream: TcpStream, talk: Talk) -> Self {
        let (waits_for, wants) = (Wants::Read, Wants::Write);
        Self { index, stream, talk, waits_for, wants, done: 0, current: None, asked: 0 }
    }

    /// Sends what the protocol wants before the first request.
    ///
    /// # Errors
    /// When the server does not accept it.
    pub(super) fn greet(&mut self) -> Result<()> {
        let opened = self.talk.open(&self.stream);
        opened.with_context(|| self.name())
    }

    fn name(&self) -> String {
        match self.stream.local_addr() {
            Ok(address) => format!("the RPC connection from port {}", address.port()),
            Err(_) => "an RPC connection".into(),
        }
    }

    /// Sends and receives until the socket blocks or the reply is complete. Returns the call that
    /// the reply completes.
    fn advance(&mut self, scratch: &mut [u8]) -> Result<Option<Call>> {
        let Some(call) = self.current else {
            // No request is outstanding: this is the end of the connection, or an error.
            self.stream.peek(&mut [0])?;
            bail!("the server closed the connection");
        };
        let step = match self.wants {
            Wants::Write => self.talk.send(&self.stream, scratch, &mut self.done)?,
            Wants::Read => self.talk.receive(&self.stream, scratch, &mut self.done)?,
        };
        if step == Step::Closed {
            bail!("the server closed the connection");
        }
        if step == Step::Blocked {
            self.waits_for = self.wants;
            return Ok(None);
        }
        self.done = 0;
        // Right after the request the reply cannot be there yet: reading now would waste a call.
        self.waits_for = Wants::Read;
        match self.wants {
            Wants::Write => {
                self.wants = Wants::Read;
                Ok(None)
            }
            Wants::Read => {
                self.wants = Wants::Write;
                self.current = None;
                Ok(Some(call))
            }
        }
    }
}
