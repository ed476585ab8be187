//! epoll(7) for many sockets on one thread. The RPC loops of both ends use it.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData};
use rustix::io::{self, Errno};

/// What a socket waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// Bytes to read.
    Read,
    /// Room to write.
    Write,
}

impl Wants {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Read => epoll::EventFlags::IN,
            Self::Write => epoll::EventFlags::OUT,
        }
    }
}

/// Bytes to read, for one wait of one thread.
const SHARED: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::ONESHOT);

/// A level-triggered epoll set. The caller identifies each socket by a number.
pub(crate) struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// Most events that one wait returns. The next wait returns the rest.
    const BATCH: usize = 64;

    /// An empty set.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Adds a descriptor. Closing it removes it.
    pub(crate) fn add(&self, fd: impl AsFd, token: u64, wants: Wants) -> io::Result<()> {
        epoll::add(&self.epoll, fd, EventData::new_u64(token), wants.flags())
    }

    /// Changes what a descriptor waits for.
    pub(crate) fn change(&self, fd: impl AsFd, token: u64, wants: Wants) -> io::Result<()> {
        epoll::modify(&self.epoll, fd, EventData::new_u64(token), wants.flags())
    }

    /// Adds a descriptor that one of several threads reads next, and then gives back by
    /// [`Self::give_back`].
    pub(crate) fn share(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        epoll::add(&self.epoll, fd, EventData::new_u64(token), SHARED)
    }

    /// From now on another thread may read from it.
    pub(crate) fn give_back(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        epoll::modify(&self.epoll, fd, EventData::new_u64(token), SHARED)
    }

    /// Waits for a socket, and returns its token; nothing after a signal. Several threads may wait.
    pub(crate) fn next(&self) -> io::Result<Option<u64>> {
        let mut room = [MaybeUninit::uninit()];
        Ok(self.events(&mut room, None)?.first().map(|event| event.data.u64()))
    }

    /// Waits at most `timeout`, and stores in `ready` the tokens of the sockets that are ready.
    /// After a signal, `ready` is empty.
    pub(crate) fn wait(&self, ready: &mut Vec<u64>, timeout: Option<Duration>) -> io::Result<()> {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut room = [MaybeUninit::uninit(); Self::BATCH];
        ready.clear();
        let events = self.events(&mut room, timeout.as_ref())?;
        ready.extend(events.iter().map(|event| event.data.u64()));
        Ok(())
    }

    /// Waits for events, as many as there is room for; none after a signal.
    fn events<'a>(
        &self,
        room: &'a mut [MaybeUninit<epoll::Event>],
        timeout: Option<&Timespec>,
    ) -> io::Result<&'a [epoll::Event]> {
        match epoll::wait(&self.epoll, room, timeout) {
            Ok((events, _)) => Ok(events),
            Err(Errno::INTR) => Ok(&[]),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// A client that asks at fixed times, many times per millisecond, depends on it.
    #[test]
    fn a_wait_is_not_rounded_up_to_a_millisecond() {
        let poller = Poller::new().unwrap();
        let waited = || {
            let start = Instant::now();
            poller.wait(&mut Vec::new(), Some(Duration::from_micros(50))).unwrap();
            start.elapsed()
        };
        // The shortest of many: on a busy machine, single waits may take as long as they like.
        let shortest = (0..200).map(|_| waited()).min().unwrap();
        assert!(shortest >= Duration::from_micros(50), "{shortest:?}");
        assert!(shortest < Duration::from_millis(1), "{shortest:?}");
    }
}
