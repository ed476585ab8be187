//! `steer-bench agent`: waits on the driving host for a runner, and starts our client towards it.
//! That is all it can be asked for: the address is the one that the runner came from, the ports are
//! fixed, the numbers are bounded, and no text from the network becomes a program or a path.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::about::About;
use super::frame::HungUp;
use super::handshake;
use super::key::Key;
use super::protocol::{BEAT, GRACE, Reply, Request};
use super::session::Sender;
use crate::lab::tool;
use crate::traffic::generator::Client;
use crate::traffic::load::Load;
use crate::traffic::units::Seconds;

/// How often the client is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Connections at a time: one runner, and some that are being refused.
const MOST_CONNECTIONS: usize = 8;

/// Flags of `steer-bench agent`.
#[derive(Debug, Args)]
#[command(after_help = "\
It starts traffic towards the host that asks with the right key, one run at a time, and does nothing
else. It needs no root. The traffic ends when the asking host goes away.

Examples:
  steer-bench agent --new-key steer.key        # once; copy the file to the other host, mode 600
  steer-bench agent --key-file steer.key --listen 10.0.0.2:5299
  steer-bench ab --agent 10.0.0.2:5299 --key-file steer.key --nic eth0    # on the other host")]
pub(crate) struct AgentArgs {
    /// Where to wait for a runner; an address of the measured network is safest.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:5299")]
    listen: SocketAddr,
    /// File with the key that the runner must hold, too.
    #[arg(long, value_name = "FILE", required_unless_present = "new_key")]
    key_file: Option<PathBuf>,
    /// Longest traffic a runner may ask for, warm-up included, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = Seconds::positive)]
    max_duration: Seconds,
    /// Write a new key to this file, which must not exist, and end.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key_file", "listen", "max_duration"])]
    new_key: Option<PathBuf>,
}

/// Serves until it is stopped, or writes a key.
///
/// # Errors
/// When the key cannot be read or made, or the port is taken.
pub(crate) fn run(args: &AgentArgs) -> Result<()> {
    if let Some(path) = &args.new_key {
        return Key::create(path);
    }
    let path = args.key_file.as_deref().context("--key-file is missing")?;
    let agent = Arc::new(Agent {
        key: Key::read(path)?,
        longest: args.max_duration.duration(),
        turn: Mutex::default(),
    });
    let listener = TcpListener::bind(args.listen).with_context(|| {
        format!("cannot listen on {}; --listen names another address or port", args.listen)
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
                // The peer's fault, or out of descriptors: neither lasts.
                eprintln!("steer-bench agent: accepting a connection: {error}");
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
    /// Who drives traffic now.
    turn: Mutex<Option<IpAddr>>,
}

impl Agent {
    /// Serves one runner until it leaves.
    fn converse(&self, stream: TcpStream, from: IpAddr) -> Result<()> {
        let (mut sender, mut receiver) = handshake::as_agent(stream, &self.key)?;
        let _turn = match self.take_turn(from) {
            Ok(turn) => turn,
            Err(other) => {
                let busy = format!("the agent is busy with the runner {other}; wait for its end");
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
                // Nobody listens once the conversation has ended from this side.
                if heard.send(request).is_err() || last {
                    break;
                }
            }
        })?;
        // From here on the client dies with this conversation, whichever way that ends.
        let mut traffic: Option<Traffic> = None;
        let mut beat = Instant::now();
        loop {
            match requests.recv_timeout(LOOK) {
                Ok(Ok(Request::Beat)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Ok(Request::Drive(load))) => {
                    let started = match &traffic {
                        Some(_) => Err(anyhow::Error::msg("the traffic before is not over")),
                        None => self.start(&load, from),
                    };
                    match started {
                        Ok(started) => traffic = Some(started),
                        Err(error) => sender.send(&Reply::Failed(format!("{error:#}")))?,
                    }
                }
                Ok(Err(error)) if error.is::<HungUp>() && traffic.is_none() => return Ok(()),
                Ok(Err(error)) => {
                    // It may be gone; if it is not, it is told what was wrong.
                    let _ = sender.send(&Reply::Failed(format!("{error:#}")));
                    return Err(error.context("the conversation broke off"));
                }
                Err(RecvTimeoutError::Disconnected) => bail!("nobody reads the requests any more"),
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

    /// Starts a client towards the runner.
    fn start(&self, load: &Load, to: IpAddr) -> Result<Traffic> {
        let length = load.length()?;
        ensure!(
            length <= self.longest,
            "{length:?} of traffic, where the agent's --max-duration is {:?}",
            self.longest
        );
        let mut command = Command::new(std::env::current_exe()?);
        // With this thread, that is: it serves one conversation.
        tool::die_with_us(command.args(load.arguments(&[to])));
        eprintln!(
            "{to}: {} long flows, {} RPC connections, {:.0} s",
            load.long_flows,
            load.rpc_connections,
            length.as_secs_f64()
        );
        Ok(Traffic { client: Client::start(command)?, deadline: Instant::now() + length + GRACE })
    }

    /// Takes the turn, or says who has it.
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

/// The right to drive traffic; given back when dropped.
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
    /// Tells what there is to tell; gives itself back while it runs.
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
