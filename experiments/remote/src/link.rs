//! The runner's connection to the agent. It stays open for the whole run, and both sides send on it
//! regularly. So each side notices at once when the other is gone.

use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail, ensure};

use super::about::About;
use super::handshake;
use super::key::Key;
use super::protocol::{BEAT, GRACE, Reply, Request, SILENCE};
use super::session::Sender;
use steer_traffic::client::ClientReport;
use steer_traffic::load::Load;

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// How often a wait checks whether to continue.
const LOOK: Duration = Duration::from_millis(200);

/// A conversation with the agent.
pub struct Agent {
    /// The address of the agent, as the user gave it.
    pub name: String,
    /// The machine that the agent runs on.
    pub about: About,
    /// The address of this host that the agent sends its traffic to.
    pub local: IpAddr,
    requests: Arc<Mutex<Sender>>,
    replies: Receiver<Result<Reply>>,
    /// Dropping it ends the thread that sends beats.
    _beats: mpsc::Sender<()>,
}

impl Agent {
    /// Connects to `HOST:PORT`.
    ///
    /// # Errors
    /// When the agent cannot be reached, refuses, or is busy.
    pub fn connect(name: &str, key: &Key) -> Result<Self> {
        let at = || format!("--agent {name}");
        let address = name
            .to_socket_addrs()
            .with_context(|| format!("{}: write HOST:PORT", at()))?
            .next()
            .with_context(|| format!("{}: this name has no address", at()))?;
        let stream = TcpStream::connect_timeout(&address, CONNECT).with_context(|| {
            format!("{}: cannot connect; is `steer-bench agent` running there?", at())
        })?;
        let local = stream.local_addr()?.ip().to_canonical();
        ensure!(
            !matches!(local, IpAddr::V6(local) if local.is_unicast_link_local()),
            "{}: traffic cannot be sent to a link-local address; name the agent by another one",
            at()
        );
        let (sender, mut receiver) = handshake::as_runner(stream, key).with_context(at)?;
        let about = match receiver.receive().with_context(at)? {
            Reply::Welcome(about) => about,
            Reply::Failed(reason) => bail!("{}: {reason}", at()),
            reply => bail!("{}: the agent sent {reply:?} instead of a welcome", at()),
        };
        let (heard, replies) = mpsc::channel();
        thread::Builder::new().name("replies".to_owned()).spawn(move || {
            loop {
                let reply = receiver.receive();
                let last = reply.is_err();
                let beat = matches!(reply, Ok(Reply::Beat));
                // Sending fails once this end of the connection is dropped.
                if !beat && heard.send(reply).is_err() || last {
                    break;
                }
            }
        })?;
        let requests = Arc::new(Mutex::new(sender));
        let (beats, ended) = mpsc::channel();
        let beating = Arc::clone(&requests);
        thread::Builder::new().name("beats".to_owned()).spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(BEAT) {
                // A broken connection also shows in the replies, which report it.
                if lock(&beating).send(&Request::Beat).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { name: name.to_owned(), about, local, requests, replies, _beats: beats })
    }

    /// Asks the agent for traffic to this host. Returns the client's report, and when its measured
    /// window began. Calls `go_on` regularly; an error from it ends the wait.
    ///
    /// # Errors
    /// When the client fails, or the agent is lost.
    pub fn drive(
        &mut self,
        load: &Load,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<(ClientReport, Instant)> {
        let name = self.name.clone();
        let at = move || format!("the agent at {name}");
        lock(&self.requests)
            .send(&Request::Drive(load.clone()))
            .with_context(|| format!("{} is gone", at()))?;
        let deadline = Instant::now() + load.length()? + GRACE + SILENCE;
        let mut warm = None;
        while Instant::now() < deadline {
            go_on()?;
            match self.replies.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Ok(Reply::Warm)) => warm = Some(Instant::now()),
                Ok(Ok(Reply::Report(text))) => {
                    let report = serde_json::from_str(&text)
                        .with_context(|| format!("reading the report of {}", at()))?;
                    let warm = warm.context("the client never reported the end of its warm-up")?;
                    return Ok((report, warm));
                }
                Ok(Ok(Reply::Failed(reason))) => bail!("{}: {reason}", at()),
                Ok(Ok(reply)) => bail!("{} answered {reply:?}", at()),
                Ok(Err(error)) => return Err(lost(error).context(at())),
                Err(RecvTimeoutError::Disconnected) => bail!("{} is gone", at()),
            }
        }
        bail!("{}: the traffic did not end in time", at())
    }
}

fn lost(error: Error) -> Error {
    error.context("lost: it was killed, or the link between the hosts is down")
}

fn lock(sender: &Mutex<Sender>) -> std::sync::MutexGuard<'_, Sender> {
    sender.lock().unwrap_or_else(PoisonError::into_inner)
}
