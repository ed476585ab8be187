//! The processes of a run, one per group: starts them, reads their CPU clocks, and ends them.

use std::convert::Infallible;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::board::Board;
use super::group::Group;
use super::member;
use super::tree::Tree;

/// Time for all threads to be set up, on a slow machine.
const SET_UP: Duration = Duration::from_secs(60);

/// The processes, in the order of their groups. They are killed when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Crew {
    members: Vec<Pid>,
    threads: usize,
}

impl Crew {
    /// Forks the process of a group. Call it while this process has a single thread.
    pub(super) fn add(
        &mut self,
        group: &Group,
        tree: Option<&Tree>,
        board: &'static Board,
        go: BorrowedFd<'static>,
    ) -> Result<()> {
        let first = self.threads;
        self.threads += usize::from(group.threads);
        // SAFETY: this process has one thread, so the child may do whatever this one may.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let Err(error) = begin(group, tree, board, first, go);
            member::fail(&group.name, &error);
        }
        ensure!(child > 0, "cannot start a process: {}", io::Error::last_os_error());
        self.members.extend(Pid::from_raw(child));
        Ok(())
    }

    /// Waits until all threads of all groups are set up.
    pub(super) fn until_ready(&self, board: &Board) -> Result<()> {
        let deadline = Instant::now() + SET_UP;
        while board.ready() < self.threads {
            for &member in &self.members {
                let ended = waitpid(Some(member), WaitOptions::NOHANG).context("waiting")?;
                ensure!(ended.is_none(), "a group could not be started");
            }
            ensure!(Instant::now() < deadline, "the threads were not set up within {SET_UP:?}");
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// The CPU time of each group since its start.
    pub(super) fn cpu_times(&self) -> Result<Vec<Duration>> {
        self.members.iter().map(|&member| cpu_time(member)).collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // Both fail only if the process has ended already, which is fine.
        for &member in &self.members {
            let _ = kill_process(member, Signal::KILL);
        }
        for &member in &self.members {
            let _ = waitpid(Some(member), WaitOptions::empty());
        }
    }
}

/// What a forked process does. It fails, or runs until it is killed.
fn begin(
    group: &Group,
    tree: Option<&Tree>,
    board: &'static Board,
    first: usize,
    go: BorrowedFd<'static>,
) -> Result<Infallible> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if let (Some(tree), Some(path)) = (tree, &group.cgroup) {
        tree.join(path)?;
    }
    member::run(group, board, first, go)
}

/// CPU time of a process with all its threads, as the kernel accounts it.
fn cpu_time(process: Pid) -> Result<Duration> {
    let mut clock = 0;
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the first call writes the clock. The second writes the time if it succeeds, and only
    // then the time is read.
    let time = unsafe {
        let status = libc::clock_getcpuclockid(process.as_raw_nonzero().get(), &raw mut clock);
        if status != 0 || libc::clock_gettime(clock, time.as_mut_ptr()) != 0 {
            bail!("cannot read the CPU clock of a group: it has ended");
        }
        time.assume_init()
    };
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}
