//! `steer-bench agent`: waits on the driving host for a runner, and starts our client against it. A
//! runner can ask for nothing else. The client connects to the runner's own address, the ports are
//! fixed, the numbers are bounded, and no text from the network becomes a program or a path.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::about::About;
use super::frame::HungUp;
use super::handshake;
use super::key::Key;
use super::protocol::{BEAT, GRACE, Reply, Request};
use super::session::Sender;
use steer_ground::tool;
use steer_ground::units::Seconds;
use steer_traffic::generator::Client;
use steer_traffic::load::Load;

/// How often the agent checks on the client.
const LOOK: Duration = Duration::from_millis(50);
/// Most connections at a time: one runner, and some that are being refused.
const MOST_CONNECTIONS: usize = 8;

/// Where the agent listens, and what it allows.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Where to listen for a runner. An address of the measured network is safest.
    pub listen: SocketAddr,
    /// File with the key. The runner must hold the same key.
    pub key_file: PathBuf,
    /// Longest traffic that a runner may ask for, including warm-up.
    pub max_duration: Seconds,
}

/// Serves runners until the process is stopped.
///
/// # Errors
/// When the key cannot be read, or the port is taken.
pub fn run(options: &AgentOptions) -> Result<()> {
    let agent = Arc::new(Agent {
        key: Key::read(&options.key_file)?,
        longest: options.max_duration.duration(),
        turn: Mutex::default(),
    });
    let listener = TcpListener::bind(options.listen).with_context(|| {
        format!("cannot listen on {}; --listen names another address or port", options.listen)
    })?;
    println!("listening on {}", listener.local_addr()?);
    serve(&listener, &agent)
}

fn serve(listener: &TcpListener, agent: &Arc<Agent>) -> Result<()> {
    let open = Arc::new(());
    loop {
        let (stream, from) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                // The peer failed, or descriptors ran out. Both pass.
                eprintln!("steer-bench agent: cannot accept a connection: {error}");
                thread::sleep(LOOK);
                continue;
            }
        };
        if Arc::strong_count(&open) > MOST_CONNECTIONS {
            continue;
        }
        let (agent, open) = (Arc::clone(agent), Arc::clone(&open));
        let from = from.ip().to_canonical();
        thread::Builder::new().name("runner".to_owned()).spawn(move || {
            match agent.converse(stream, from) {
                Ok(()) => eprintln!("{from}: done"),
                Err(error) => eprintln!("{from}: {error:#}"),
            }
            drop(open);
        })?;
    }
}

/// What all connections share.
struct Agent {
    key: Key,
    longest: Duration,
    /// The runner that is served now.
    turn: Mutex<Option<IpAddr>>,
}

impl Agent {
    /// Serves one runner until it leaves.
    fn converse(&self, stream: TcpStream, from: IpAddr) -> Result<()> {
        let (mut sender, mut receiver) = handshake::as_agent(stream, &self.key)?;
        let _turn = match self.take_turn(from) {
            Ok(turn) => turn,
            Err(other) => {
                let busy = format!("the agent is busy with the runner {other}; wait until it ends");
                sender.send(&Reply::Failed(busy.clone()))?;
                bail!(busy);
            }
        };
        sender.send(&Reply::Welcome(About::here()))?;
        let (heard, requests) = mpsc::channel();
        thread::Builder::new().name("listen".to_owned()).spawn(move || {
            loop {
                let request = receiver.receive();
                let last = request.is_err();
                // Sending fails once this side has ended the conversation.
                if heard.send(request).is_err() || last {
                    break;
                }
            }
        })?;
        // From here on the client dies with this conversation, however the conversation ends.
        let mut traffic: Option<Traffic> = None;
        let mut beat = Instant::now();
        loop {
            match requests.recv_timeout(LOOK) {
                Ok(Ok(Request::Beat)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Ok(Request::Drive(load))) => {
                    let started = match &traffic {
                        Some(_) => Err(anyhow::Error::msg("the previous traffic is still running")),
                        None => self.start(&load, from),
                    };
                    match started {
                        Ok(started) => traffic = Some(started),
                        Err(error) => sender.send(&Reply::Failed(format!("{error:#}")))?,
                    }
                }
                Ok(Err(error)) if error.is::<HungUp>() && traffic.is_none() => return Ok(()),
                Ok(Err(error)) => {
                    // Tell the runner what was wrong, if it is still there.
                    let _ = sender.send(&Reply::Failed(format!("{error:#}")));
                    return Err(error.context("the conversation broke off"));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("the thread that reads requests has ended")
                }
            }
            if let Some(running) = traffic.take() {
                traffic = running.go_on(&mut sender)?;
            }
            if beat.elapsed() >= BEAT {
                sender.send(&Reply::Beat)?;
                beat = Instant::now();
            }
        }
    }

    /// Starts a client that connects to the runner.
    fn start(&self, load: &Load, to: IpAddr) -> Result<Traffic> {
        let length = load.length()?;
        ensure!(
            length <= self.longest,
            "{length:?} of traffic is longer than the agent's --max-duration, {:?}",
            self.longest
        );
        let mut command = Command::new(std::env::current_exe()?);
        // The client dies with this thread, which serves one conversation.
        tool::die_with_us(command.args(load.arguments(&[to])));
        eprintln!(
            "{to}: {} long flows, {} RPC connections, {:.0} s",
            load.long_flows,
            load.rpc_connections,
            length.as_secs_f64()
        );
        Ok(Traffic { client: Client::start(command)?, deadline: Instant::now() + length + GRACE })
    }

    /// Takes the turn, or returns the runner that has it.
    fn take_turn(&self, runner: IpAddr) -> Result<Turn<'_>, IpAddr> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match *turn {
            Some(other) => Err(other),
            None => {
                *turn = Some(runner);
                Ok(Turn(self))
            }
        }
    }
}

/// The right to drive traffic. Dropping it gives it back.
struct Turn<'a>(&'a Agent);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.turn.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A running client.
struct Traffic {
    client: Client,
    deadline: Instant,
}

impl Traffic {
    /// Reports progress to the runner. Returns itself while the client runs.
    fn go_on(mut self, sender: &mut Sender) -> Result<Option<Self>> {
        if self.client.warm().is_some() {
            sender.send(&Reply::Warm)?;
        }
        if !self.client.ended()? && Instant::now() < self.deadline {
            return Ok(Some(self));
        }
        match self.client.finish(self.deadline) {
            Ok((report, warm)) => {
                if warm.is_some() {
                    sender.send(&Reply::Warm)?;
                }
                sender.send(&Reply::Report(report))?;
            }
            Err(error) => sender.send(&Reply::Failed(format!("{error:#}")))?,
        }
        Ok(None)
    }
}
