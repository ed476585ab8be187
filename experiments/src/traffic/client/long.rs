//! One long flow of the client, whichever way it goes.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::phase::{Phase, PhaseCell};
use crate::traffic::LOOK;
use crate::traffic::long::{self, Completions, Demand, Reader, Reads};

/// The client's end of a long flow.
#[derive(Clone)]
pub(super) enum End {
    /// It sends; without copying, if completions are to be counted.
    Source(Option<Arc<Completions>>),
    /// It has the server send.
    Sink,
}

impl End {
    /// Has the flow go, in the stages that it is to go in, until the run drains.
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
                        // What it did not send while it was silent is not made up for.
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

/// Asks for the flow and forgets it: this end is not the one that is measured.
fn receive(mut stream: &TcpStream, demand: &Demand, go_on: impl Fn() -> bool) -> Result<()> {
    // A new connection has room for it.
    stream.write_all(&demand.encode()).context("cannot ask for it")?;
    stream.set_read_timeout(Some(LOOK)).context("cannot set SO_RCVTIMEO")?;
    let mut reader = Reader::new(Reads::Discard);
    while go_on() {
        match reader.read(stream) {
            Ok(0) => bail!("the server ended it"),
            Ok(_) => {}
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
