//! SIGINT and SIGTERM as something a loop can poll.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use anyhow::{Context, Result};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

/// The user wants it to end.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub(crate) struct Interrupted;

/// Becomes readable when the process is asked to stop.
#[derive(Debug)]
pub(crate) struct Stop(Arc<OwnedFd>);

impl Stop {
    /// Takes over SIGINT and SIGTERM.
    ///
    /// # Errors
    /// When called twice, or when the process is out of file descriptors.
    pub(crate) fn on_signal() -> Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC).context("cannot create an eventfd")?;
        let fd = Arc::new(fd);
        let raised = Arc::clone(&fd);
        // The write cannot fail: that takes 2^64 - 1 signals.
        let raise = move || {
            let _ = rustix::io::write(&raised, &1u64.to_ne_bytes());
        };
        ctrlc::set_handler(raise).context("cannot handle SIGINT and SIGTERM")?;
        Ok(Self(fd))
    }

    /// One that nobody raises.
    #[cfg(test)]
    pub(crate) fn never() -> Self {
        Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap()))
    }

    /// One that is raised already.
    #[cfg(test)]
    pub(crate) fn always() -> Self {
        Self(Arc::new(eventfd(1, EventfdFlags::CLOEXEC).unwrap()))
    }

    /// Whether it has been asked to.
    pub(crate) fn raised(&self) -> bool {
        const NOW: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        // An interrupted look is made again by whoever looks.
        poll(&mut [PollFd::new(self, PollFlags::IN)], Some(&NOW)).is_ok_and(|ready| ready > 0)
    }

    /// For loops that go on until it is.
    ///
    /// # Errors
    /// [`Interrupted`], once it is.
    pub(crate) fn not_raised(&self) -> Result<()> {
        if self.raised() { Err(Interrupted.into()) } else { Ok(()) }
    }

    /// Sleeps until the process is asked to stop.
    ///
    /// # Errors
    /// When poll(2) fails.
    pub(crate) fn wait(&self) -> Result<()> {
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
