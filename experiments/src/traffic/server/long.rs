//! The sink of the long flows: a thread per connection that reads and forgets.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::thread;

use anyhow::{Context, Result};

use crate::traffic::cpus::CpuList;
use crate::traffic::long::{Reader, Reads};

/// Starts the sinks and says where each runs.
pub(crate) struct Sinks {
    reads: Reads,
    pin: Option<CpuList>,
    served: usize,
}

impl Sinks {
    /// Sinks that are pinned to one CPU of the list each, in turns; free when there is no list.
    pub(crate) fn new(reads: Reads, pin: Option<CpuList>) -> Self {
        Self { reads, pin, served: 0 }
    }

    /// Reads from the connection on a thread of its own until the peer ends it.
    pub(crate) fn serve(&mut self, stream: TcpStream) -> Result<()> {
        let name = format!("long-{}", self.served);
        let cpu = self.pin.as_ref().map(|list| list.round_robin(self.served));
        let reads = self.reads;
        self.served += 1;
        let context = format!("cannot start {name}");
        thread::Builder::new()
            .name(name.clone())
            .spawn(move || {
                if let Err(error) = sink(&stream, reads, cpu) {
                    eprintln!("steer-bench: {name}: {error:#}");
                }
            })
            .context(context)?;
        Ok(())
    }
}

fn sink(stream: &TcpStream, reads: Reads, cpu: Option<CpuList>) -> Result<()> {
    if let Some(cpu) = cpu {
        cpu.pin_current_thread()?;
    }
    // Linux sockets of a non-blocking listener do not inherit the flag; say what is relied on.
    stream.set_nonblocking(false).context("cannot make the connection blocking")?;
    let mut reader = Reader::new(reads);
    loop {
        match reader.read(stream) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Clients end with a reset, so that their ports are free at once.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(error).context("cannot read"),
        }
    }
}
