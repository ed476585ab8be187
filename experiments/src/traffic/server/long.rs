//! The server's ends of the long flows, a thread per connection: sinks read and forget, sources send
//! what the client demands.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Error, Result};

use crate::traffic::cpus::CpuList;
use crate::traffic::long::{self, Completions, Demand, Reader, Reads};
use crate::traffic::trace::Tracer;

/// What the server does on a connection.
#[derive(Clone)]
pub(super) enum End {
    /// It reads; and says where, if that is asked.
    Sink(Reads, bool),
    /// It sends; without copying, if completions are to be counted.
    Source(Option<Arc<Completions>>),
}

/// Starts the threads of one kind of end and says where each runs.
pub(super) struct Ends {
    end: End,
    pin: Option<CpuList>,
    served: usize,
}

impl Ends {
    /// Ends that are pinned to one CPU of the list each, in turns; free when there is no list.
    pub(super) fn new(end: End, pin: Option<CpuList>) -> Self {
        Self { end, pin, served: 0 }
    }

    /// Serves the connection on a thread of its own until the peer ends it.
    pub(super) fn serve(&mut self, stream: TcpStream) -> Result<()> {
        let kind = match self.end {
            End::Sink(..) => "long",
            End::Source(_) => "long-out",
        };
        let name = format!("{kind}-{}", self.served);
        let cpu = self.pin.as_ref().map(|list| list.round_robin(self.served));
        let end = self.end.clone();
        self.served += 1;
        let context = format!("cannot start {name}");
        thread::Builder::new()
            .name(name.clone())
            .spawn(move || {
                if let Err(error) = end.run(&stream, cpu, &name)
                    && !is_the_peers_end(&error)
                {
                    eprintln!("steer-bench: {name}: {error:#}");
                }
            })
            .context(context)?;
        Ok(())
    }
}

impl End {
    fn run(&self, stream: &TcpStream, cpu: Option<CpuList>, name: &str) -> Result<()> {
        if let Some(cpu) = cpu {
            cpu.pin_current_thread()?;
        }
        // Linux sockets of a non-blocking listener do not inherit the flag; say what is relied on.
        stream.set_nonblocking(false).context("cannot make the connection blocking")?;
        match self {
            Self::Sink(reads, trace) => {
                let tracer = trace.then(|| Tracer::new(name.to_owned()));
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
    // Only the peer ends it, and that shows when there is something to send.
    let pacer = demand.pacer(Instant::now());
    long::send(stream, demand.chunk(), pacer, completions, || true).context("cannot send")
}

/// Clients end with a reset, so that their ports are free at once.
fn is_the_peers_end(error: &Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionReset};
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| matches!(error.kind(), BrokenPipe | ConnectionReset))
}
