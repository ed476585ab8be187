//! The client's end of one long flow, in either direction.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::phase::{Phase, PhaseCell};
use crate::LOOK;
use crate::long;
use crate::long::{Completions, Demand, Reader, Reads};

/// The client's end of a long flow.
#[derive(Clone)]
pub(super) enum End {
    /// The client sends. With completions, it sends without copying and counts them.
    Source(Option<Arc<Completions>>),
    /// The client asks the server to send.
    Sink,
}

impl End {
    /// Runs the flow in the stages where it is active, until the run drains.
    ///
    /// # Errors
    /// When the server ends the connection first.
    pub(super) fn run(
        &self,
        index: u16,
        stream: &TcpStream,
        demand: &Demand,
        mut start: Instant,
        phase: &PhaseCell,
    ) -> Result<()> {
        match self {
            Self::Source(completions) => {
                loop {
                    if !phase.flow_goes(index) {
                        if !phase.wait_for_flow(index) {
                            return Ok(());
                        }
                        // Restart the pace: do not catch up on the silent time.
                        start = Instant::now();
                    }
                    let (chunk, pacer) = (demand.chunk(), demand.pacer(start));
                    let go_on = || phase.flow_goes(index);
                    long::send(stream, chunk, pacer, completions.as_deref(), go_on)?;
                }
            }
            Self::Sink => receive(stream, demand, || phase.now() != Phase::Drain),
        }
    }
}

/// Asks for the flow and discards the payload: this end is not measured.
fn receive(mut stream: &TcpStream, demand: &Demand, go_on: impl Fn() -> bool) -> Result<()> {
    // This cannot block: the buffer of a new connection has room.
    stream.write_all(&demand.encode()).context("cannot ask the server for it")?;
    stream.set_read_timeout(Some(LOOK)).context("cannot set SO_RCVTIMEO")?;
    let mut reader = Reader::new(Reads::Discard);
    while go_on() {
        match reader.read(stream) {
            Ok(0) => bail!("the server closed the connection"),
            Ok(_) => {}
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
