//! Memory that all processes of a run share. Each thread notes on its seat when it last ran, so a
//! thread that never gets a CPU needs none to report it.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};

/// Most threads of a run.
pub(super) const MOST_THREADS: usize = 1024;

/// The shared memory. All times are nanoseconds of CLOCK_MONOTONIC.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Board {
    /// Threads that are set up.
    ready: AtomicU32,
    /// The window. Both are 0 before it begins.
    begin: AtomicU64,
    end: AtomicU64,
    seats: [Seat; MOST_THREADS],
}

/// What one thread notes. No other thread writes it.
#[repr(C)]
#[derive(Debug)]
struct Seat {
    /// Longest pause inside the window.
    longest: AtomicU64,
    /// When the thread last ran or, if it sleeps, when it wants to go on.
    last: AtomicU64,
}

impl Board {
    /// Maps an empty board. Processes that are forked later share it.
    pub(super) fn map() -> Result<&'static Self> {
        // SAFETY: a new anonymous mapping of the board's size. Zeros are a valid board, and the
        // mapping stays for the rest of the process's life.
        let board = unsafe {
            let memory = libc::mmap(
                ptr::null_mut(),
                size_of::<Self>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            (memory != libc::MAP_FAILED).then(|| &*memory.cast::<Self>())
        };
        board.ok_or_else(io::Error::last_os_error).context("no memory to share with the threads")
    }

    /// Counts a thread as set up.
    pub(super) fn arrive(&self) {
        self.ready.fetch_add(1, Ordering::Relaxed);
    }

    /// Threads that are set up.
    pub(super) fn ready(&self) -> usize {
        self.ready.load(Ordering::Relaxed) as usize
    }

    /// Opens the window: pauses count from now on.
    pub(super) fn open(&self, length: Duration) {
        let now = now();
        self.end.store(now + nanoseconds(length), Ordering::Relaxed);
        self.begin.store(now, Ordering::Release);
    }

    /// Notes that the thread runs now, and is runnable from `next` on.
    pub(super) fn note(&self, seat: usize, now: u64, next: u64) {
        let Seat { longest, last } = &self.seats[seat];
        let pause = self.pause(last.load(Ordering::Relaxed), now);
        longest.fetch_max(pause, Ordering::Relaxed);
        last.store(next, Ordering::Relaxed);
    }

    /// The longest pause of a thread inside the window, including one that has not ended.
    pub(super) fn longest(&self, seat: usize) -> Duration {
        let Seat { longest, last } = &self.seats[seat];
        let open = self.pause(last.load(Ordering::Relaxed), now());
        Duration::from_nanos(longest.load(Ordering::Relaxed).max(open))
    }

    /// The part of a pause that is inside the window.
    fn pause(&self, from: u64, to: u64) -> u64 {
        match self.begin.load(Ordering::Acquire) {
            0 => 0,
            begin => to.min(self.end.load(Ordering::Relaxed)).saturating_sub(from.max(begin)),
        }
    }
}

/// CLOCK_MONOTONIC now, in nanoseconds.
pub(super) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds of a span. 584 years are the most.
pub(super) fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pauses_inside_the_window_count() {
        let board = Board::map().unwrap();
        board.note(0, 1_000, 1_000);
        assert_eq!(board.pause(1_000, 9_000), 0, "there is no window yet");
        board.begin.store(2_000, Ordering::Relaxed);
        board.end.store(5_000, Ordering::Relaxed);
        for (from, to, inside) in [
            (1_000, 1_500, 0),
            (1_000, 2_500, 500),
            (2_500, 2_600, 100),
            (4_000, 9_000, 1_000),
            (6_000, 9_000, 0),
            (0, 9_000, 3_000),
        ] {
            assert_eq!(board.pause(from, to), inside, "{from} to {to}");
        }
    }

    #[test]
    fn a_pause_that_has_not_ended_counts() {
        let board = Board::map().unwrap();
        board.open(Duration::from_secs(3600));
        let begin = board.begin.load(Ordering::Relaxed);
        board.note(0, begin + 700, begin + 700);
        board.note(1, begin + 700, u64::MAX);
        assert!(board.longest(0) > Duration::from_nanos(700), "it does not run any more");
        assert_eq!(board.longest(1), Duration::from_nanos(700), "it sleeps");
    }
}
