//! The RPC load, several connections to a thread, one request outstanding on each: closed loops, or
//! requests that are due at fixed times. An RPC counts when it begins in the measured phase, and is
//! then waited for: counting those that end in it would hide exactly the slow ones at its end. What
//! is due at a time counts from then on, sent or not, or a client that is held up would hide that.

use std::mem;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hdrhistogram::Histogram;

use super::phase::{Phase, PhaseCell};
use super::report::new_histogram;
use super::talk::Talk;
use super::tcp_info::{is_unacknowledged, smoothed_rtt_us};
use super::turns::Turns;
use crate::traffic::LOOK;
use crate::traffic::poll::{Poller, Wants};
use crate::traffic::wire::Step;

/// Longest time outstanding RPCs are waited for.
pub(super) const DRAIN: Duration = Duration::from_secs(5);

/// Bytes sent or received at a time; messages up to this size take one call each way.
const SCRATCH: usize = 256 << 10;

/// Most connections of a thread whose round-trip time is asked for.
const RTTS: usize = 250;
/// RPCs after which a connection's smoothed round-trip time, to which each adds an eighth, is theirs
/// rather than that of its opening.
const SETTLED: u32 = 16;

/// How often connections that rest in a stage are looked at.
const NAP: Duration = Duration::from_millis(5);

/// One client thread and its connections.
pub(super) struct Caller {
    poller: Poller,
    connections: Vec<Connection>,
    order: Order,
    /// Connections that have a request out.
    outstanding: usize,
    scratch: Vec<u8>,
    /// Nanoseconds until the last byte received, by the stage that they began in.
    latencies: Vec<Histogram<u64>>,
}

/// What a caller measured.
#[derive(Default)]
pub(super) struct Called {
    /// By stage.
    pub(super) latencies: Vec<Histogram<u64>>,
    /// Of some connections, as the run ended.
    pub(super) rtts_us: Vec<u32>,
}

/// When connections ask.
enum Order {
    /// As soon as they have their reply; those that rest in a stage are listed.
    AtOnce { resting: Vec<u64> },
    /// When it is their turn.
    InTurns(Turns),
}

impl Caller {
    /// A caller on open connections, each of which asks at once, if there are no turns; the load has
    /// so many stages.
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

    /// Calls until the run drains and all replies are in; returns what was measured either way.
    pub(super) fn run(&mut self, phase: &PhaseCell) -> (Called, Result<()>) {
        let result = self.open().and_then(|()| self.call(phase));
        (Called { rtts_us: self.rtts(), latencies: mem::take(&mut self.latencies) }, result)
    }

    /// The round-trip times of some connections, of those that know theirs.
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

    /// What to say of the replies that are not in after [`DRAIN`].
    fn missing(&self) -> String {
        let asking = self.connections.iter().filter(|connection| connection.current.is_some());
        let lost = asking.filter(|one| is_unacknowledged(&one.stream).is_ok_and(|lost| lost));
        format!(
            "{} RPCs had no reply {} s after the run; requests that have not reached the server's \
             kernel: {}",
            self.outstanding,
            DRAIN.as_secs(),
            lost.count()
        )
    }

    /// Has the connections that rest ask, if they are to; gives how long to wait at most.
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

    /// Has those ask whose turn it is; gives how long to wait at most.
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

    /// Begins an RPC that counts from a moment.
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

    /// Moves one connection on as far as its socket lets it.
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

/// One connection, which is idle at first.
pub(super) struct Connection {
    /// Its number among all connections of the client.
    index: u32,
    stream: TcpStream,
    talk: Talk,
    /// What the poller looks for: while it is idle, that the server ends it.
    waits_for: Wants,
    /// Write while a request goes out, Read while its reply comes in.
    wants: Wants,
    /// Bytes of the current message that are through.
    done: usize,
    /// The outstanding RPC; `None` between two.
    current: Option<Call>,
    /// RPCs so far.
    asked: u32,
}

#[derive(Clone, Copy)]
struct Call {
    begun: Instant,
    /// The stage that it counts under, if it counts.
    stage: Option<u8>,
}

impl Connection {
    /// An open connection.
    pub(super) fn new(index: u32, stream: TcpStream, talk: Talk) -> Self {
        let (waits_for, wants) = (Wants::Read, Wants::Write);
        Self { index, stream, talk, waits_for, wants, done: 0, current: None, asked: 0 }
    }

    /// Says what comes before the first request.
    ///
    /// # Errors
    /// When the server does not listen to it.
    pub(super) fn greet(&self) -> Result<()> {
        self.talk.open(&self.stream).with_context(|| self.name())
    }

    fn name(&self) -> String {
        match self.stream.local_addr() {
            Ok(address) => format!("the RPC connection from port {}", address.port()),
            Err(_) => "an RPC connection".into(),
        }
    }

    /// Goes on until the socket blocks, or the reply is in: then gives the call that it ends.
    fn advance(&mut self, scratch: &mut [u8]) -> Result<Option<Call>> {
        let Some(call) = self.current else {
            // Nothing was asked: this is its end, or an error.
            self.stream.peek(&mut [0])?;
            bail!("the server closed it");
        };
        let step = match self.wants {
            Wants::Write => self.talk.send(&self.stream, scratch, &mut self.done)?,
            Wants::Read => self.talk.receive(&self.stream, scratch, &mut self.done)?,
        };
        if step == Step::Closed {
            bail!("the server closed it");
        }
        if step == Step::Blocked {
            self.waits_for = self.wants;
            return Ok(None);
        }
        self.done = 0;
        // Once the request is out the reply cannot be there yet: looking would be a call for nothing.
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
