//! The RPC service. Connections are dealt in turns to a few threads. Each thread is an epoll loop
//! that answers every request with a reply of the same size, after some work if that is asked for.

use std::collections::HashMap;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::event::{EventfdFlags, eventfd};
use socket2::SockRef;

use super::work::compute;
use super::worker::{self, is_the_peers_end};
use crate::poll::{Poller, Wants};
use crate::wire;
use crate::wire::{Hello, Step};
use steer_ground::cpus::CpuList;
use steer_ground::units::Size;

/// Bytes a thread reads or writes at a time; messages up to this size need one call each way. Its
/// work for an RPC reads this memory, too: too much for an L1 cache, little enough for most L2s.
const SCRATCH: usize = 256 << 10;

/// The token of the eventfd. Other tokens are descriptor numbers, which are small.
const INBOX: u64 = u64::MAX;

/// The running service.
pub(super) struct Service {
    workers: Vec<Handle>,
    served: usize,
}

/// How connections reach a thread.
struct Handle {
    inbox: mpsc::Sender<TcpStream>,
    wake: Arc<OwnedFd>,
}

impl Service {
    /// Starts the threads, each pinned to the whole set when there is one.
    pub(super) fn start(threads: u16, work: Option<Size>, pin: Option<CpuList>) -> Result<Self> {
        let work = work.map_or(0, Size::bytes);
        let workers = (0..threads).map(|index| Handle::spawn(index, work, pin.clone()));
        Ok(Self { workers: workers.collect::<Result<_>>()?, served: 0 })
    }

    /// Hands the connection to the next thread in turn.
    pub(super) fn serve(&mut self, stream: TcpStream) -> Result<()> {
        let index = self.served % self.workers.len();
        self.served += 1;
        stream.set_nonblocking(true).context("cannot make the connection non-blocking")?;
        stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        // If the server ends first, closing with a reset leaves no connection half closed.
        let linger = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        linger.context("cannot set SO_LINGER")?;
        let worker = &self.workers[index];
        // The thread drops its inbox only when it ends, and prints the reason on stderr.
        if worker.inbox.send(stream).is_err() {
            bail!("rpc-{index} has stopped");
        }
        rustix::io::write(&worker.wake, &1u64.to_ne_bytes()).context("cannot wake a thread")?;
        Ok(())
    }
}

impl Handle {
    fn spawn(index: u16, work: u64, pin: Option<CpuList>) -> Result<Self> {
        let name = format!("rpc-{index}");
        let (inbox, arrivals) = mpsc::channel();
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake = Arc::new(eventfd(0, flags).context("cannot create an eventfd")?);
        let mut worker = Worker {
            poller: Poller::new().context("cannot create an epoll set")?,
            arrivals,
            wake: Arc::clone(&wake),
            connections: HashMap::new(),
            scratch: vec![0; SCRATCH],
            work,
        };
        worker::start(name, pin, move || worker.run())?;
        Ok(Self { inbox, wake })
    }
}

/// One thread of the service.
struct Worker {
    poller: Poller,
    arrivals: mpsc::Receiver<TcpStream>,
    wake: Arc<OwnedFd>,
    connections: HashMap<u64, Connection>,
    scratch: Vec<u8>,
    /// Bytes to read and hash for each RPC.
    work: u64,
}

impl Worker {
    fn run(&mut self) -> Result<()> {
        self.poller.add(&self.wake, INBOX, Wants::Read).context("cannot watch the inbox")?;
        let mut ready = Vec::new();
        loop {
            self.poller.wait(&mut ready, None).context("epoll_wait failed")?;
            for &token in &ready {
                match token {
                    INBOX => self.take_arrivals()?,
                    token => self.go_on(token)?,
                }
            }
        }
    }

    fn take_arrivals(&mut self) -> Result<()> {
        // The eventfd only wakes the thread; the channel holds the connections. Reading it resets
        // it.
        rustix::io::read(&self.wake, &mut [0; 8]).context("cannot read the eventfd")?;
        for stream in self.arrivals.try_iter() {
            let token = u64::try_from(stream.as_raw_fd()).context("a negative descriptor")?;
            self.poller.add(&stream, token, Wants::Read).context("cannot watch a connection")?;
            self.connections.insert(token, Connection::new(stream));
        }
        Ok(())
    }

    /// Serves a connection until its socket blocks. Closes it if it ended or broke the protocol.
    fn go_on(&mut self, token: u64) -> Result<()> {
        let Some(connection) = self.connections.get_mut(&token) else { return Ok(()) };
        let before = connection.wants();
        match connection.advance(&mut self.scratch, self.work) {
            Ok(Step::Closed) => drop(self.connections.remove(&token)),
            Ok(_) if connection.wants() != before => self
                .poller
                .change(&connection.stream, token, connection.wants())
                .context("cannot watch a connection")?,
            Ok(_) => {}
            Err(error) => {
                eprintln!("steer-bench: an RPC connection was closed: {error:#}");
                self.connections.remove(&token);
            }
        }
        Ok(())
    }
}

/// A client's connection, and the state of its exchange.
struct Connection {
    stream: TcpStream,
    state: State,
    /// Bytes of the current state's message that are sent or received.
    done: usize,
    hello: [u8; Hello::LEN],
    message: usize,
}

#[derive(Clone, Copy)]
enum State {
    Hello,
    Request,
    Reply,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, state: State::Hello, done: 0, hello: [0; Hello::LEN], message: 0 }
    }

    fn wants(&self) -> Wants {
        match self.state {
            State::Hello | State::Request => Wants::Read,
            State::Reply => Wants::Write,
        }
    }

    /// Continues until the socket blocks, the peer leaves or a reply is sent. It does not read the
    /// next request right after a reply: the client has not seen the reply yet, and the read would
    /// waste a system call in every exchange.
    fn advance(&mut self, scratch: &mut [u8], work: u64) -> Result<Step> {
        loop {
            let step = match self.state {
                State::Hello => {
                    wire::receive(&self.stream, &mut self.hello, &mut self.done, Hello::LEN)
                }
                State::Request => {
                    wire::receive(&self.stream, scratch, &mut self.done, self.message)
                }
                State::Reply => wire::send(&self.stream, scratch, &mut self.done, self.message),
            };
            match step {
                Ok(Step::Done) => {}
                Ok(step) => return Ok(step),
                Err(error) if is_the_peers_end(&error) => return Ok(Step::Closed),
                Err(error) => return Err(error.into()),
            }
            self.done = 0;
            self.state = match self.state {
                State::Hello => {
                    self.message = Hello::decode(self.hello)?.message as usize;
                    State::Request
                }
                State::Request => {
                    compute(scratch, work);
                    State::Reply
                }
                State::Reply => {
                    self.state = State::Request;
                    return Ok(Step::Done);
                }
            };
        }
    }
}
