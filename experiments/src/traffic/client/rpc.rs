//! The RPC load: closed loops, one request outstanding per connection, several connections to a
//! thread. An RPC counts when it begins in the measured phase, and is then waited for: counting
//! those that end in it would hide exactly the slow ones at its end.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hdrhistogram::Histogram;

use super::phase::{Phase, PhaseCell};
use super::report::new_histogram;
use super::talk::{Protocol, Talk};
use crate::traffic::LOOK;
use crate::traffic::poll::{Poller, Wants};
use crate::traffic::wire::Step;

/// Longest time outstanding RPCs are waited for.
pub(super) const DRAIN: Duration = Duration::from_secs(5);

/// Bytes sent or received at a time; messages up to this size take one call each way.
const SCRATCH: usize = 256 << 10;

/// How often connections that rest in a stage are looked at.
const NAP: Duration = Duration::from_millis(5);

/// One client thread and its connections.
pub(super) struct Caller {
    poller: Poller,
    connections: Vec<Connection>,
    scratch: Vec<u8>,
    /// Nanoseconds from the first byte sent to the last byte received, by the stage that they began
    /// in.
    latencies: Vec<Histogram<u64>>,
}

impl Caller {
    /// A caller on open connections, each with its number among all; the load has so many stages.
    ///
    /// # Errors
    /// When the process runs out of descriptors.
    pub(super) fn new(
        streams: Vec<(u16, TcpStream)>,
        protocol: Protocol,
        message: usize,
        stages: usize,
    ) -> Result<Self> {
        let connection =
            |(index, stream)| Connection::new(index, stream, Talk::new(protocol, index, message));
        Ok(Self {
            poller: Poller::new().context("cannot create an epoll set")?,
            connections: streams.into_iter().map(connection).collect(),
            scratch: vec![0; SCRATCH],
            latencies: vec![new_histogram(); stages],
        })
    }

    /// Calls until the run drains and all replies are in; returns the latencies either way.
    pub(super) fn run(mut self, phase: &PhaseCell) -> (Vec<Histogram<u64>>, Result<()>) {
        let result = self.open().and_then(|()| self.call(phase));
        (self.latencies, result)
    }

    fn open(&mut self) -> Result<()> {
        for (connection, token) in self.connections.iter().zip(0..) {
            connection.talk.open(&connection.stream).with_context(|| connection.name())?;
            connection.stream.set_nonblocking(true)?;
            self.poller.add(&connection.stream, token, Wants::Write)?;
        }
        Ok(())
    }

    fn call(&mut self, phase: &PhaseCell) -> Result<()> {
        let mut ready = Vec::new();
        let mut resting: Vec<u64> = Vec::new();
        let mut draining_since = None;
        let mut open = self.connections.len();
        while open > 0 {
            let patience = if resting.is_empty() { LOOK } else { NAP };
            self.poller.wait(&mut ready, Some(patience)).context("epoll_wait failed")?;
            for &token in &ready {
                match self.advance(token, phase)? {
                    Next::Wait => {}
                    Next::Rest => resting.push(token),
                    Next::Idle => open -= 1,
                }
            }
            let due = |&mut token: &mut u64| {
                let index = self.connections[token as usize].index;
                phase.now() == Phase::Drain || phase.connection_asks(index)
            };
            for token in resting.extract_if(.., due).collect::<Vec<_>>() {
                self.poller.add(&self.connections[token as usize].stream, token, Wants::Write)?;
            }
            if phase.now() == Phase::Drain {
                let since = *draining_since.get_or_insert_with(Instant::now);
                if since.elapsed() > DRAIN {
                    bail!("{open} RPCs had no reply {} s after the run", DRAIN.as_secs());
                }
            }
        }
        Ok(())
    }

    /// Moves one connection on as far as its socket lets it.
    fn advance(&mut self, token: u64, phase: &PhaseCell) -> Result<Next> {
        let connection = &mut self.connections[token as usize];
        let before = connection.wants;
        let next = connection.advance(&mut self.scratch, phase, &mut self.latencies);
        let next = next.with_context(|| connection.name())?;
        if next != Next::Wait {
            self.poller.remove(&connection.stream)?;
        } else if connection.wants != before {
            self.poller.change(&connection.stream, token, connection.wants)?;
        }
        Ok(next)
    }
}

/// Whether a connection has more to do.
#[derive(PartialEq, Eq)]
enum Next {
    Wait,
    /// Nothing to do in this stage.
    Rest,
    /// Nothing to do any more.
    Idle,
}

struct Connection {
    /// Its number among all connections of the client.
    index: u16,
    stream: TcpStream,
    talk: Talk,
    /// Write while a request goes out, Read while its reply comes in.
    wants: Wants,
    /// Bytes of the current message that are through.
    done: usize,
    /// The outstanding RPC; `None` between two.
    current: Option<Call>,
}

#[derive(Clone, Copy)]
struct Call {
    begun: Instant,
    /// The stage that it counts under, if it counts.
    stage: Option<u8>,
}

impl Connection {
    fn new(index: u16, stream: TcpStream, talk: Talk) -> Self {
        Self { index, stream, talk, wants: Wants::Write, done: 0, current: None }
    }

    fn name(&self) -> String {
        match self.stream.local_addr() {
            Ok(address) => format!("the RPC connection from port {}", address.port()),
            Err(_) => "an RPC connection".into(),
        }
    }

    fn advance(
        &mut self,
        scratch: &mut [u8],
        phase: &PhaseCell,
        latencies: &mut [Histogram<u64>],
    ) -> Result<Next> {
        loop {
            let call = match self.current {
                Some(call) => call,
                None => {
                    let stage = match phase.now() {
                        Phase::Drain => return Ok(Next::Idle),
                        _ if !phase.connection_asks(self.index) => return Ok(Next::Rest),
                        Phase::WarmUp => None,
                        Phase::Measure(stage) => Some(stage),
                    };
                    *self.current.insert(Call { begun: Instant::now(), stage })
                }
            };
            let step = match self.wants {
                Wants::Write => self.talk.send(&self.stream, scratch, &mut self.done)?,
                Wants::Read => self.talk.receive(&self.stream, scratch, &mut self.done)?,
            };
            match (step, self.wants) {
                (Step::Blocked, _) => return Ok(Next::Wait),
                (Step::Closed, _) => bail!("the server closed it"),
                (Step::Done, Wants::Write) => {
                    self.wants = Wants::Read;
                    self.done = 0;
                    // The reply cannot be there yet: looking for it would be a call for nothing.
                    return Ok(Next::Wait);
                }
                (Step::Done, Wants::Read) => {
                    self.wants = Wants::Write;
                    self.done = 0;
                    self.current = None;
                    if let Some(stage) = call.stage {
                        let nanoseconds = call.begun.elapsed().as_nanos();
                        latencies[usize::from(stage)]
                            .saturating_record(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
                    }
                }
            }
        }
    }
}
