//! Turns SIGINT and SIGTERM into a descriptor that a loop can poll.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use anyhow::{Context, Result};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

/// The user asked the command to stop.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Becomes readable when the process is asked to stop.
#[derive(Debug)]
pub struct Stop(Arc<OwnedFd>);

impl Stop {
    /// Takes over SIGINT and SIGTERM.
    ///
    /// # Errors
    /// When called twice, or when the process is out of file descriptors.
    pub fn on_signal() -> Result<Self> {
        let stop = Self::never()?;
        let raised = Arc::clone(&stop.0);
        // The write cannot fail: that takes 2^64 - 1 signals.
        let raise = move || {
            let _ = rustix::io::write(&raised, &1u64.to_ne_bytes());
        };
        ctrlc::set_handler(raise).context("cannot handle SIGINT and SIGTERM")?;
        Ok(stop)
    }

    /// A stop flag that is never raised.
    ///
    /// # Errors
    /// When the process is out of file descriptors.
    pub fn never() -> Result<Self> {
        Self::counting(0)
    }

    /// A stop flag that is already raised.
    ///
    /// # Errors
    /// As [`Self::never`].
    pub fn always() -> Result<Self> {
        Self::counting(1)
    }

    /// A stop flag that has been raised this many times.
    fn counting(raised: u32) -> Result<Self> {
        let fd = eventfd(raised, EventfdFlags::CLOEXEC).context("cannot create an eventfd")?;
        Ok(Self(Arc::new(fd)))
    }

    /// Whether the process has been asked to stop.
    pub fn raised(&self) -> bool {
        const NOW: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        // If a signal interrupts poll(2), this returns false; callers ask again anyway.
        poll(&mut [PollFd::new(self, PollFlags::IN)], Some(&NOW)).is_ok_and(|ready| ready > 0)
    }

    /// Fails once the process has been asked to stop; for loops that use `?`.
    ///
    /// # Errors
    /// [`Interrupted`], once the flag is raised.
    pub fn not_raised(&self) -> Result<()> {
        if self.raised() { Err(Interrupted.into()) } else { Ok(()) }
    }

    /// Sleeps until the process is asked to stop.
    ///
    /// # Errors
    /// When poll(2) fails.
    pub fn wait(&self) -> Result<()> {
        loop {
            match poll(&mut [PollFd::new(self, PollFlags::IN)], None) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error).context("cannot wait for a signal"),
            }
        }
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
