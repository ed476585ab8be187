//! The sending end of a long flow: chunk after chunk, at its pace.

use std::io;
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use super::pace::Pacer;
use super::zerocopy::{Completions, Zerocopy};
use crate::LOOK;
use crate::wire;
use crate::wire::Step;

/// Most bytes per call. A flow needs this much memory.
const CALL: usize = 256 << 10;
/// The byte that fills the payload. Not zero: memory that was never written maps to one shared
/// kernel page, and reading that costs less than reading real payload.
const FILL: u8 = 0x5a;

/// Sends chunks of `chunk` bytes while `go_on` returns true. It then abandons the present chunk:
/// nobody reads its content. With `completions` it sends without copying, and counts the kernel's
/// notices there.
///
/// # Errors
/// When the peer closes the connection first, or the kernel has no MSG_ZEROCOPY.
pub fn send(
    stream: &TcpStream,
    chunk: u64,
    mut pacer: Pacer,
    completions: Option<&Completions>,
    go_on: impl Fn() -> bool,
) -> io::Result<()> {
    // A send times out now and then, so that the end of the run is noticed under back pressure as
    // well.
    stream.set_write_timeout(Some(LOOK))?;
    let chunk = chunk as usize;
    let payload = vec![FILL; chunk.min(CALL)].into_boxed_slice();
    let mut sender = match completions {
        None => Sender::Copying(stream, payload),
        Some(completions) => Sender::Zerocopy(Zerocopy::new(stream, payload, completions)?),
    };
    while sleep_until_due(&pacer, &go_on) {
        pacer.sent();
        let mut done = 0;
        while sender.send(&mut done, chunk)? != Step::Done {
            if !go_on() {
                return Ok(());
            }
        }
    }
    Ok(())
}

enum Sender<'a> {
    Copying(&'a TcpStream, Box<[u8]>),
    Zerocopy(Zerocopy<'a>),
}

impl Sender<'_> {
    fn send(&mut self, done: &mut usize, chunk: usize) -> io::Result<Step> {
        match self {
            Self::Copying(stream, payload) => wire::send(*stream, payload, done, chunk),
            Self::Zerocopy(sender) => sender.send(done, chunk),
        }
    }
}

/// Sleeps until a chunk is due. False once `go_on` returns false.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Sends some chunks of odd size over loopback. Returns what arrived.
    fn moved(completions: Option<&Completions>) -> Vec<u8> {
        const CHUNKS: usize = 40;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let arrived = thread::spawn(move || {
            let mut arrived = Vec::new();
            peer.read_to_end(&mut arrived).unwrap();
            arrived
        });
        let asked = AtomicUsize::new(0);
        let go_on = || asked.fetch_add(1, Ordering::Relaxed) < CHUNKS;
        // Without a rate, `go_on` is called once per chunk, and more often only while the peer is
        // slow.
        send(&stream, CALL as u64 + 1, Pacer::new(Instant::now(), None), completions, go_on)
            .unwrap();
        drop(stream);
        arrived.join().unwrap()
    }

    #[test]
    fn the_same_bytes_arrive_with_and_without_a_copy() {
        let completions = Completions::default();
        let (copied, zerocopied) = (moved(None), moved(Some(&completions)));
        for arrived in [&copied, &zerocopied] {
            assert!(!arrived.is_empty() && arrived.iter().all(|&byte| byte == FILL));
        }
        // The kernel has reported all sends by the end of the flow, and loopback copies.
        let told = completions.so_far();
        assert!(told.sends >= zerocopied.len() as u64 / CALL as u64, "{told:?}");
        assert_eq!(told.copied, told.sends);
    }
}
