//! Sending without a copy (MSG_ZEROCOPY): the kernel takes references to the pages of the payload,
//! and later reports when it no longer needs them. Until then the payload must not change, so it
//! belongs to the sender, which never changes it.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, SendFlags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::errqueue;
use crate::LOOK;
use crate::wire;
use crate::wire::Step;

/// Sends between two reads of notices: every read is a system call.
const BATCH: u32 = 16;
/// Longest wait for room in the kernel when nothing of this flow is outstanding. Also the longest
/// wait for the last notices when the flow ends.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two reads of the last notices.
const NAP: Duration = Duration::from_millis(10);

/// What the kernel has reported about the sends of all flows.
#[derive(Debug, Default)]
pub struct Completions {
    sends: AtomicU64,
    copied: AtomicU64,
}

/// A snapshot of [`Completions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Completed {
    /// Sends that the kernel has completed.
    pub sends: u64,
    /// Sends among these whose payload it copied anyway (SO_EE_CODE_ZEROCOPY_COPIED).
    pub copied: u64,
}

impl Completions {
    /// A snapshot of what the kernel has reported so far.
    pub fn so_far(&self) -> Completed {
        Completed {
            sends: self.sends.load(Ordering::Relaxed),
            copied: self.copied.load(Ordering::Relaxed),
        }
    }
}

impl Completed {
    /// Warns if this did not measure sending without a copy, and says why.
    pub fn warning(&self) -> Option<String> {
        (self.copied > 0).then(|| {
            format!(
                "{self}: a device on the path (loopback, veth, a tap, or a NIC without \
                 scatter-gather) makes it copy"
            )
        })
    }
}

impl fmt::Display for Completed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} zero-copy sends, of which the kernel copied {}", self.sends, self.copied)
    }
}

/// The sending end of one flow.
pub(super) struct Zerocopy<'a> {
    payload: Box<[u8]>,
    socket: Socket<'a>,
}

impl<'a> Zerocopy<'a> {
    /// A sender that sends this payload again and again.
    ///
    /// # Errors
    /// On kernels before Linux 4.14.
    pub(super) fn new(
        stream: &'a TcpStream,
        payload: Box<[u8]>,
        completions: &'a Completions,
    ) -> io::Result<Self> {
        errqueue::allow(stream).map_err(|error| {
            io::Error::new(error.kind(), format!("MSG_ZEROCOPY needs Linux 4.14: {error}"))
        })?;
        let socket =
            Socket { stream, completions, outstanding: 0, since_look: 0, without_room: None };
        Ok(Self { payload, socket })
    }

    /// As [`wire::send`].
    pub(super) fn send(&mut self, done: &mut usize, size: usize) -> io::Result<Step> {
        wire::send(&mut self.socket, &self.payload, done, size)
    }
}

impl Drop for Zerocopy<'_> {
    fn drop(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while self.socket.outstanding > 0 && Instant::now() < deadline {
            match self.socket.look() {
                Ok(0) => thread::sleep(NAP),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        if self.socket.outstanding > 0 {
            // Otherwise the peer would receive whatever this memory is used for next.
            mem::forget(mem::take(&mut self.payload));
        }
    }
}

/// The socket, and the state of the sends on it.
struct Socket<'a> {
    stream: &'a TcpStream,
    completions: &'a Completions,
    /// Sends whose payload the kernel may still need.
    outstanding: u32,
    /// Sends since notices were last read.
    since_look: u32,
    /// Since when the kernel has had no room, although nothing of this flow is outstanding.
    without_room: Option<Instant>,
}

impl Socket<'_> {
    /// Reads all notices. Returns the number of sends that they complete.
    fn look(&mut self) -> io::Result<u32> {
        let mut told = 0;
        while let Some(notice) = errqueue::next(self.stream)? {
            told += notice.sends;
            let sends = u64::from(notice.sends);
            self.completions.sends.fetch_add(sends, Ordering::Relaxed);
            let copied = if notice.copied { sends } else { 0 };
            self.completions.copied.fetch_add(copied, Ordering::Relaxed);
        }
        self.since_look = 0;
        self.outstanding = self.outstanding.saturating_sub(told);
        Ok(told)
    }

    /// Waits briefly for notices: with each, the kernel frees pinned memory.
    fn wait_for_room(&mut self) -> io::Result<()> {
        if self.look()? > 0 {
            return Ok(());
        }
        // A notice appears as an error, which poll(2) always reports. An interrupt by a signal does
        // no harm.
        let moment = Timespec::try_from(LOOK).ok();
        let _ = poll(&mut [PollFd::new(self.stream, PollFlags::empty())], moment.as_ref());
        if self.look()? > 0 || self.outstanding > 0 {
            return Ok(());
        }
        // Other processes may have used up this user's limit of pinned memory, and may free it.
        if self.without_room.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            return Err(io::Error::other(
                "no memory can be pinned for MSG_ZEROCOPY: raise the limit of locked memory \
                 (ulimit -l), or net.core.optmem_max",
            ));
        }
        Ok(())
    }
}

/// Only for payload that stays unchanged and allocated while sends are outstanding.
impl Write for Socket<'_> {
    fn write(&mut self, payload: &[u8]) -> io::Result<usize> {
        if self.since_look >= BATCH {
            self.look()?;
        }
        // rustix does not name this flag, but passes on any flag.
        let flags = SendFlags::from_bits_retain(libc::MSG_ZEROCOPY as u32) | SendFlags::NOSIGNAL;
        match net::send(self.stream, payload, flags) {
            Ok(count) => {
                self.outstanding += 1;
                self.since_look += 1;
                self.without_room = None;
                Ok(count)
            }
            Err(Errno::NOBUFS) => {
                self.wait_for_room()?;
                Err(ErrorKind::WouldBlock.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_was_not_avoided_is_a_warning() {
        let completed = |copied| Completed { sends: 8, copied };
        assert_eq!(completed(0).warning(), None);
        let warning = completed(3).warning().unwrap();
        assert!(
            warning.starts_with("8 zero-copy sends, of which the kernel copied 3: "),
            "{warning}"
        );
    }
}
