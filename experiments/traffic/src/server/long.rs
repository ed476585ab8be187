//! The server's ends of the long flows, one thread per connection. Sinks read and discard. Sources
//! send what the client demands.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};

use super::worker::{self, is_the_peers_end};
use crate::long;
use crate::long::{Completions, Demand, Reader, Reads};
use crate::trace::Tracer;
use steer_ground::cpus::CpuList;

/// What the server does on a connection.
#[derive(Clone)]
pub(super) enum End {
    /// It reads. If the flag is set, it prints the CPUs (`--trace-long`).
    Sink(Reads, bool),
    /// It sends. With completions, it sends without copying and counts them.
    Source(Option<Arc<Completions>>),
}

/// Starts the threads of one kind of end, and chooses the CPU of each.
pub(super) struct Ends {
    end: End,
    pin: Option<CpuList>,
    served: usize,
}

impl Ends {
    /// Pins each thread to one CPU of the list, in turns. Without a list, threads are not pinned.
    pub(super) fn new(end: End, pin: Option<CpuList>) -> Self {
        Self { end, pin, served: 0 }
    }

    /// Serves the connection on its own thread until the peer closes it.
    pub(super) fn serve(&mut self, stream: TcpStream) -> Result<()> {
        let kind = match self.end {
            End::Sink(..) => "long",
            End::Source(_) => "long-out",
        };
        let name = format!("{kind}-{}", self.served);
        let cpu = self.pin.as_ref().map(|list| list.round_robin(self.served));
        let end = self.end.clone();
        self.served += 1;
        worker::start(name.clone(), cpu, move || match end.run(&stream, name) {
            Err(error) if error.downcast_ref().is_some_and(is_the_peers_end) => Ok(()),
            ended => ended,
        })
    }
}

impl End {
    fn run(&self, stream: &TcpStream, name: String) -> Result<()> {
        // On Linux, sockets do not inherit the flag of a non-blocking listener. Set it to be sure.
        stream.set_nonblocking(false).context("cannot make the connection blocking")?;
        match self {
            Self::Sink(reads, trace) => {
                let tracer = trace.then(|| Tracer::new(name));
                sink(stream, *reads, tracer).context("cannot read")
            }
            Self::Source(completions) => source(stream, completions.as_deref()),
        }
    }
}

fn sink(stream: &TcpStream, reads: Reads, mut tracer: Option<Tracer>) -> io::Result<()> {
    let mut reader = Reader::new(reads);
    loop {
        match reader.read(stream) {
            Ok(0) => return Ok(()),
            Ok(_) => {
                if let Some(tracer) = &mut tracer {
                    tracer.look(stream);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn source(stream: &TcpStream, completions: Option<&Completions>) -> Result<()> {
    let demand = Demand::receive(stream)?;
    stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
    // Only the peer ends the flow. The next send then fails.
    let pacer = demand.pacer(Instant::now());
    long::send(stream, demand.chunk(), pacer, completions, || true).context("cannot send")
}
