//! The runner's line to the agent. It stays open, and in use, for the whole run: so the agent knows
//! that the runner is there, and the runner at once when the agent is not.

use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail, ensure};
use serde_json::Value;

use super::about::About;
use super::handshake;
use super::key::Key;
use super::protocol::{BEAT, GRACE, Reply, Request, SILENCE};
use super::session::Sender;
use crate::traffic::load::Load;

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// How often a wait looks whether it shall go on.
const LOOK: Duration = Duration::from_millis(200);

/// A conversation with the agent.
pub(crate) struct Agent {
    /// The address it is reached at, as the user gave it.
    pub(crate) name: String,
    /// The machine it runs on.
    pub(crate) about: About,
    /// The address of this host that it sends its traffic to.
    pub(crate) local: IpAddr,
    requests: Arc<Mutex<Sender>>,
    replies: Receiver<Result<Reply>>,
    /// Ends the beats when dropped.
    _beats: mpsc::Sender<()>,
}

impl Agent {
    /// Connects to `HOST:PORT`.
    ///
    /// # Errors
    /// When it cannot be reached, refuses, or is busy.
    pub(crate) fn connect(name: &str, key: &Key) -> Result<Self> {
        let at = || format!("--agent {name}");
        let address = name
            .to_socket_addrs()
            .with_context(|| format!("{}: write HOST:PORT", at()))?
            .next()
            .with_context(|| format!("{}: the name has no address", at()))?;
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
            reply => bail!("{}: the agent greets with {reply:?}", at()),
        };
        let (heard, replies) = mpsc::channel();
        thread::Builder::new().name("replies".to_owned()).spawn(move || {
            loop {
                let reply = receiver.receive();
                let last = reply.is_err();
                let beat = matches!(reply, Ok(Reply::Beat));
                // Nobody listens once this end of the line is dropped.
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
                // That the line is broken shows in the replies.
                if lock(&beating).send(&Request::Beat).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { name: name.to_owned(), about, local, requests, replies, _beats: beats })
    }

    /// Has traffic driven to this host; gives the client's report, and when its window began. `go_on`
    /// is asked now and then, and ends the wait with its error.
    ///
    /// # Errors
    /// When the client fails, or the agent is lost.
    pub(crate) fn drive(
        &mut self,
        load: &Load,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<(Value, Instant)> {
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
                    let warm = warm.context("the client never said that it is warm")?;
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
