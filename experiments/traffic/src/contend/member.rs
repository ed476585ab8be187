//! The process of one group: its threads, which spin and sleep until it is killed.

use std::convert::Infallible;
use std::io;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, clock_gettime};

use super::board::{self, Board, nanoseconds};
use super::group::{Group, Policy};
use crate::hog;

/// Starts a group's threads, which take the seats from `first` on. They wait for `go` to become
/// readable, and then run for ever.
pub(super) fn run(
    group: &Group,
    board: &'static Board,
    first: usize,
    go: BorrowedFd<'static>,
) -> Result<Infallible> {
    for thread in 0..usize::from(group.threads) {
        let group = group.clone();
        let name = group.name.chars().take(15).collect();
        let toil = move || match toil(&group, board, first + thread, go) {
            Ok(never) => match never {},
            Err(error) => fail(&group.name, &error),
        };
        thread::Builder::new().name(name).spawn(toil).context("cannot start that many threads")?;
    }
    loop {
        thread::park();
    }
}

/// Ends a group's process: the run cannot be measured without it.
pub(super) fn fail(group: &str, error: &anyhow::Error) -> ! {
    eprintln!("steer-bench: group {group}: {error:#}");
    // SAFETY: ends the process at once, without the handlers that it shares with its parent.
    unsafe { libc::_exit(1) }
}

fn toil(
    group: &Group,
    board: &'static Board,
    seat: usize,
    go: BorrowedFd<'_>,
) -> Result<Infallible> {
    let pin = |cpus: &Option<_>| {
        cpus.as_ref().map_or(Ok(()), steer_ground::cpus::CpuList::pin_current_thread)
    };
    pin(&group.cpus)?;
    pin(&group.from)?;
    prioritize(group)?;
    board.arrive();
    while poll(&mut [PollFd::new(&go, PollFlags::IN)], None).is_err() {}
    if !group.late.is_zero() {
        let start = board::now() + nanoseconds(group.late);
        match &group.from {
            Some(_) => {
                while board::now() < start {
                    hog::spin()
                }
            }
            None => thread::sleep(group.late),
        }
        pin(&group.cpus)?;
    }
    match group.duty {
        None => loop {
            hog::spin();
            let now = board::now();
            board.note(seat, now, now);
        },
        Some((run, sleep)) => loop {
            let enough = cpu_time() + nanoseconds(run);
            while cpu_time() < enough {
                let now = board::now();
                board.note(seat, now, now);
                hog::spin();
            }
            let now = board::now();
            board.note(seat, now, now + nanoseconds(sleep));
            thread::sleep(sleep);
        },
    }
}

/// Gives the calling thread the group's policy and nice value.
fn prioritize(group: &Group) -> Result<()> {
    rustix::process::setpriority_process(None, group.nice)
        .with_context(|| format!("cannot set nice {}", group.nice))?;
    let policy = match group.policy {
        Policy::Other => return Ok(()),
        Policy::Batch => libc::SCHED_BATCH,
        Policy::Idle => libc::SCHED_IDLE,
        Policy::Fifo => libc::SCHED_FIFO,
    };
    set_policy(policy, i32::from(group.policy == Policy::Fifo))
}

/// Sets the calling thread's policy and its real-time priority.
pub(super) fn set_policy(policy: libc::c_int, priority: libc::c_int) -> Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: 0 is the calling thread, and the parameters live through the call.
    if unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } < 0 {
        let error = io::Error::last_os_error();
        bail!("cannot set scheduling policy {policy}, priority {priority}: {error}");
    }
    Ok(())
}

/// CPU time of the calling thread in nanoseconds.
fn cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    nanoseconds(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}
