//! The server's ends of incoming long flows when a few threads share them all, as in programs with
//! an event loop below their threads (Go, Java): each takes whichever connection has data.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};

use super::worker;
use crate::long::{Reader, Reads};
use crate::poll::Poller;
use steer_ground::cpus::CpuList;

/// The connections, and the set in which all threads wait for them.
pub(super) struct Shared {
    poller: Poller,
    connections: Mutex<HashMap<u64, Arc<TcpStream>>>,
}

impl Shared {
    /// Starts the threads, pinned to the CPUs of the list in turns when there is one.
    pub(super) fn start(threads: u16, reads: Reads, pin: Option<&CpuList>) -> Result<Arc<Self>> {
        let poller = Poller::new().context("cannot create an epoll set")?;
        let shared = Arc::new(Self { poller, connections: Mutex::default() });
        for index in 0..threads {
            let cpu = pin.map(|list| list.round_robin(index.into()));
            let shared = Arc::clone(&shared);
            worker::start(format!("long-{index}"), cpu, move || shared.read(reads))?;
        }
        Ok(shared)
    }

    /// Adds a connection, until its peer closes it.
    pub(super) fn serve(&self, stream: TcpStream) -> Result<()> {
        stream.set_nonblocking(true).context("cannot make the connection non-blocking")?;
        let (token, stream) = (stream.as_raw_fd() as u64, Arc::new(stream));
        self.connections().insert(token, Arc::clone(&stream));
        self.poller.share(&*stream, token).context("cannot watch a connection")
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<u64, Arc<TcpStream>>> {
        // nothing panics while it holds the map
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads once from each connection that is ready, for ever.
    fn read(&self, reads: Reads) -> Result<()> {
        let mut reader = Reader::new(reads);
        loop {
            let Some(token) = self.poller.next().context("epoll_wait failed")? else { continue };
            let Some(stream) = self.connections().get(&token).cloned() else { continue };
            if goes_on(reader.read(&stream)) {
                self.poller.give_back(&*stream, token).context("cannot go on")?;
            } else {
                self.connections().remove(&token);
            }
        }
    }
}

/// Whether a connection goes on after this read. If an error has ended it, says so.
fn goes_on(read: io::Result<usize>) -> bool {
    match read {
        Ok(bytes) => bytes > 0,
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            true
        }
        Err(error) => {
            if !worker::is_the_peers_end(&error) {
                eprintln!("steer-bench: a long flow was closed: {error}");
            }
            false
        }
    }
}
