//! The connection to the program runner on the measured machine: the agent in a guest, or this
//! process itself. Requests are typed, and each is bounded in time.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::here::Here;
use super::protocol::{Finished, PORT, Reply, Request, VERSION};
use crate::net::Net;

/// Longest silence of a working guest. If a scheduler starves the agent, the kernel's watchdog
/// ejects it after 30 s. A longer limit lets that show up as a scheduler's fault.
const SILENCE: Duration = Duration::from_secs(45);
/// Time limit for steps that only move a few bytes, or start or end a program.
const STEP: Duration = Duration::from_secs(30);

/// The guest was silent for longer than a working guest can be, or closed the connection. Look at
/// its console.
#[derive(Debug, thiserror::Error)]
#[error("the guest does not answer {0}; it may hang")]
pub struct Silent(String);

/// A connection to the measured machine.
#[derive(Debug)]
pub struct Link {
    line: Line,
    programs: u64,
}

/// What is at the other end.
#[derive(Debug)]
enum Line {
    Guest { requests: TcpStream, replies: BufReader<TcpStream> },
    Here(Here),
}

impl Link {
    /// A connection to this host.
    pub fn here(here: Here) -> Self {
        Self { line: Line::Here(here), programs: 0 }
    }

    /// Tries once to reach the agent in a guest.
    ///
    /// # Errors
    /// While the guest is still booting, among others.
    pub fn open(net: &Net, timeout: Duration) -> Result<Self> {
        let requests = net.connect(PORT, timeout)?;
        requests.set_nodelay(true)?;
        requests.set_read_timeout(Some(SILENCE))?;
        requests.set_write_timeout(Some(SILENCE))?;
        let replies = BufReader::new(requests.try_clone()?);
        let mut link = Self { line: Line::Guest { requests, replies }, programs: 0 };
        link.done(&Request::Hello { version: VERSION })?;
        Ok(link)
    }

    /// The content of a file under /proc or /sys, trimmed.
    pub fn read(&mut self, path: &str) -> Result<String> {
        let text = self.done(&Request::Read { path: path.to_owned() })?;
        Ok(text.trim_end().to_owned())
    }

    /// Writes to a file under /proc or /sys.
    pub fn write(&mut self, path: &str, value: &str) -> Result<()> {
        let request = Request::Write { path: path.to_owned(), value: value.to_owned() };
        self.done(&request).map(drop)
    }

    /// The names in a folder under /proc or /sys, sorted.
    pub fn list(&mut self, path: &str) -> Result<Vec<String>> {
        let names = self.done(&Request::List { path: path.to_owned() })?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// Starts a program under a name.
    pub fn spawn<S: AsRef<str>>(&mut self, name: &str, argv: &[S]) -> Result<()> {
        let argv = argv.iter().map(|word| word.as_ref().to_owned()).collect();
        self.done(&Request::Spawn { name: name.to_owned(), argv }).map(drop)
    }

    /// Waits until a line of the program's output starts with `line`.
    pub fn expect(&mut self, name: &str, line: &str, timeout: Duration) -> Result<()> {
        let (name, line) = (name.to_owned(), line.to_owned());
        self.done(&Request::Expect { name, line, timeout_s: timeout.as_secs_f64() }).map(drop)
    }

    /// Sends a signal to the program and all processes it started.
    pub fn signal(&mut self, name: &str, signal: i32) -> Result<()> {
        self.done(&Request::Signal { name: name.to_owned(), signal }).map(drop)
    }

    /// Waits until the program has ended.
    ///
    /// # Errors
    /// When the time is up first.
    pub fn wait(&mut self, name: &str, timeout: Duration) -> Result<Finished> {
        self.ended(name, timeout)?.with_context(|| format!("{name} did not end within {timeout:?}"))
    }

    /// Waits until the program has ended. `None` when the time is up first.
    pub fn ended(&mut self, name: &str, timeout: Duration) -> Result<Option<Finished>> {
        let request = Request::Wait { name: name.to_owned(), timeout_s: timeout.as_secs_f64() };
        match self.ask(&request, timeout)? {
            Reply::Finished(finished) => Ok(Some(finished)),
            Reply::Running(_) => Ok(None),
            reply => bail!("the agent answered {reply:?} to {request:?}"),
        }
    }

    /// The program's output so far.
    pub fn so_far(&mut self, name: &str) -> Result<Finished> {
        let request = Request::Wait { name: name.to_owned(), timeout_s: 0.0 };
        match self.ask(&request, Duration::ZERO)? {
            Reply::Finished(said) | Reply::Running(said) => Ok(said),
            reply => bail!("the agent answered {reply:?} to {request:?}"),
        }
    }

    /// Ends the program with SIGTERM, or with SIGKILL if it ignores that.
    ///
    /// # Errors
    /// When it has already ended by itself. The error quotes its last line.
    pub fn stop(&mut self, name: &str) -> Result<Finished> {
        self.stop_within(name, STEP)
    }

    /// As [`Self::stop`], for a program that may take longer to end.
    pub fn stop_within(&mut self, name: &str, limit: Duration) -> Result<Finished> {
        if let Some(ended) = self.ended(name, Duration::ZERO)? {
            bail!("{name} ended by itself (code {:?}): {}", ended.code, ended.last_words());
        }
        self.signal(name, libc::SIGTERM)?;
        self.wait(name, limit).or_else(|error| {
            self.signal(name, libc::SIGKILL)?;
            let finished = self.wait(name, STEP)?;
            Err(error.context(format!("{name} ignored SIGTERM: {}", finished.last_words())))
        })
    }

    /// Runs a program to its end. It must end within `timeout`.
    pub fn run<S: AsRef<str>>(&mut self, argv: &[S], timeout: Duration) -> Result<Finished> {
        self.programs += 1;
        let name = format!("run-{}", self.programs);
        self.spawn(&name, argv)?;
        let finished = self.wait(&name, timeout);
        if finished.is_err() {
            self.signal(&name, libc::SIGKILL)?;
        }
        finished
    }

    /// Whether to answer requests on this host although the user asked to stop, so that settings
    /// can be put back first. Requests to a guest are always answered.
    pub fn insist(&mut self, insists: bool) {
        if let Line::Here(here) = &mut self.line {
            here.insists = insists;
        }
    }

    /// Ends all programs that were started on this host. Programs in a guest end with the guest.
    pub fn end_all(&mut self) {
        if let Line::Here(here) = &self.line {
            here.end_all();
        }
    }

    /// Sends a request whose answer is a text.
    fn done(&mut self, request: &Request) -> Result<String> {
        let timeout = match request {
            Request::Expect { timeout_s, .. } => Duration::from_secs_f64(*timeout_s),
            _ => STEP,
        };
        match self.ask(request, timeout)? {
            Reply::Done(text) => Ok(text),
            reply => bail!("the agent answered {reply:?} to {request:?}"),
        }
    }

    fn ask(&mut self, request: &Request, timeout: Duration) -> Result<Reply> {
        let (requests, replies) = match &mut self.line {
            Line::Guest { requests, replies } => (requests, replies),
            Line::Here(here) => return here.answer(request),
        };
        let line = serde_json::to_string(request)? + "\n";
        let silent = || Silent(format!("{request:?}"));
        requests.write_all(line.as_bytes()).with_context(silent)?;
        let deadline = Instant::now() + timeout + SILENCE;
        while Instant::now() < deadline {
            let mut line = String::new();
            if replies.read_line(&mut line).with_context(silent)? == 0 {
                return Err(silent().into());
            }
            match serde_json::from_str(&line).context("the agent sent no valid reply")? {
                Reply::Alive => {}
                Reply::Failed(error) => bail!("in the guest: {error}"),
                reply => return Ok(reply),
            }
        }
        bail!("{request:?} took longer than {timeout:?}")
    }
}
