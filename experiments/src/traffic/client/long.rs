//! One long flow: sends chunk after chunk at its pace until the run drains.

use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};

use super::pace::Pacer;
use super::phase::{LOOK, Phase, PhaseCell};
use crate::traffic::wire::{self, Step};

/// Sends until the run drains; a chunk under way is then abandoned, for nobody reads its content.
///
/// # Errors
/// When the server ends the connection first.
pub(super) fn run(
    stream: &TcpStream,
    chunk: &[u8],
    mut pacer: Pacer,
    phase: &PhaseCell,
) -> Result<()> {
    // Sends give up now and then, so that the end of the run is seen under back pressure as well.
    stream.set_write_timeout(Some(LOOK)).context("cannot set SO_SNDTIMEO")?;
    while sleep_until_due(&pacer, phase) {
        pacer.sent();
        let mut done = 0;
        while wire::send(stream, chunk, &mut done, chunk.len())? != Step::Done {
            if phase.now() == Phase::Drain {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Whether there is a chunk to send; false once the run drains.
fn sleep_until_due(pacer: &Pacer, phase: &PhaseCell) -> bool {
    while phase.now() != Phase::Drain {
        let now = Instant::now();
        match pacer.due() {
            Some(due) if due > now => thread::sleep(LOOK.min(due - now)),
            _ => return true,
        }
    }
    false
}
