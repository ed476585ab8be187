//! The sending end of a long flow: chunk after chunk, at its pace.

use std::io;
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use super::pace::Pacer;
use crate::traffic::LOOK;
use crate::traffic::wire::{self, Step};

/// Most bytes of a call, and so of the memory that a flow takes.
const CALL: usize = 256 << 10;
/// What the payload consists of. Not zeroes: memory that nobody wrote to is one page of the kernel's,
/// over and over, and to read it costs less than any payload does.
const FILL: u8 = 0x5a;

/// Sends chunks of `chunk` bytes while `go_on` says so; one that is under way is then abandoned, for
/// nobody reads its content.
///
/// # Errors
/// When the peer ends the connection first.
pub(crate) fn send(
    stream: &TcpStream,
    chunk: u64,
    mut pacer: Pacer,
    go_on: impl Fn() -> bool,
) -> io::Result<()> {
    // Sends give up now and then, so that the end of the run is seen under back pressure as well.
    stream.set_write_timeout(Some(LOOK))?;
    let chunk = chunk as usize;
    let payload = vec![FILL; chunk.min(CALL)];
    while sleep_until_due(&pacer, &go_on) {
        pacer.sent();
        let mut done = 0;
        while wire::send(stream, &payload, &mut done, chunk)? != Step::Done {
            if !go_on() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Whether there is a chunk to send; false once it shall not go on.
fn sleep_until_due(pacer: &Pacer, go_on: &impl Fn() -> bool) -> bool {
    while go_on() {
        let now = Instant::now();
        match pacer.due() {
            Some(due) if due > now => thread::sleep(LOOK.min(due - now)),
            _ => return true,
        }
    }
    false
}
