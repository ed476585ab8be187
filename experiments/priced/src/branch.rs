//! Samples that begin alike share a guest up to the moment when they part: it boots once, and
//! copies of its emulator go on, each with words of its own (`plugin/branch.c`).

use std::io;
use std::os::fd::OwnedFd;

use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use steer_lab::kernel::Kernel;

use crate::guest::{Guest, Process, Task, Words, memory, shell};
use crate::hardware::{Outputs, path};
use crate::tools::Tools;

/// A guest that boots for several samples. When dropped, it is killed, and its copies with it.
#[derive(Debug)]
pub(crate) struct Trunk {
    guest: Guest,
    orders: OwnedFd,
    is_ready: bool,
}

/// The files of a branch, which the trunk has inherited.
#[derive(Debug)]
pub(crate) struct Seed {
    outputs: Outputs,
    words: OwnedFd,
}

/// A copy of an emulator. It is killed when dropped.
#[derive(Debug)]
pub(crate) struct Copy {
    /// `None`: it had ended before it could be looked at.
    pidfd: Option<OwnedFd>,
}

impl Seed {
    /// Files for a branch with these words.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn new(words: &Words, profile: bool) -> Result<Self> {
        Ok(Self { outputs: Outputs::new(profile)?, words: memory("words", &shell(words))? })
    }

    /// What the trunk is told of it.
    fn order(&self) -> String {
        let Outputs { marks, console, profile } = &self.outputs;
        let profile = profile.as_ref().map(|file| format!("\nprofile={}", path(file)));
        format!(
            "console={}\nreport={}\nwords={}{}",
            path(console),
            path(marks),
            path(&self.words),
            profile.unwrap_or_default()
        )
    }
}

impl Trunk {
    /// Starts the guest. `seeds`: all that will grow from it.
    ///
    /// # Errors
    /// When a program is missing.
    pub(crate) fn start(
        task: &Task<'_>,
        seeds: Vec<&Seed>,
        tools: &Tools,
        kernel: &Kernel,
    ) -> Result<Self> {
        let (orders, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .context("making a socket for the emulator")?;
        let inherited: Vec<&OwnedFd> =
            seeds.into_iter().flat_map(|seed| seed.outputs.all().chain([&seed.words])).collect();
        let guest = Guest::start_with(task, tools, kernel, Some(theirs), &inherited)?;
        Ok(Self { guest, orders, is_ready: false })
    }

    /// Whether copies of it can begin, after a look.
    ///
    /// # Errors
    /// When it has ended before that.
    pub(crate) fn look(&mut self) -> Result<bool> {
        if self.is_ready {
            return Ok(true);
        }
        ensure!(self.guest.ended()?.is_none(), "the guest ended before copies of it could begin");
        match self.answer(RecvFlags::DONTWAIT) {
            Ok(_) => self.is_ready = true,
            // It has nothing to say yet, or is about to end, which the next look tells.
            Err(Errno::AGAIN | Errno::PIPE) => {}
            Err(error) => return Err(error).context("waiting for the emulator"),
        }
        Ok(self.is_ready)
    }

    /// Whether copies of it can begin, as of the last look.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// A copy that goes on as this branch, once it is ready.
    ///
    /// # Errors
    /// When the emulator cannot copy itself.
    pub(crate) fn branch(&self, name: String, seed: Seed) -> Result<Guest> {
        let copied = || -> Result<Copy> {
            send(&self.orders, seed.order().as_bytes(), SendFlags::NOSIGNAL)?;
            let pid = self.answer(RecvFlags::empty())?;
            let pid = pid.parse().ok().and_then(Pid::from_raw);
            Copy::new(pid.context("it could not copy itself")?)
        };
        let copy = copied().context("asking the emulator for a copy")?;
        Ok(Guest::of(name, Process::Copy(copy), seed.outputs))
    }

    /// The guest, until its copies begin.
    pub(crate) fn into_guest(self) -> Guest {
        self.guest
    }

    /// A message of the emulator.
    fn answer(&self, flags: RecvFlags) -> rustix::io::Result<String> {
        let mut answer = [0; 32];
        let (length, _) = recv(&self.orders, answer.as_mut_slice(), flags)?;
        if length == 0 {
            return Err(Errno::PIPE);
        }
        Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
    }
}

impl Copy {
    fn new(pid: Pid) -> Result<Self> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pidfd: Some(pidfd) }),
            Err(Errno::SRCH) => Ok(Self { pidfd: None }),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn has_ended(&self) -> io::Result<bool> {
        let Some(pidfd) = &self.pidfd else { return Ok(true) };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&now))?;
        Ok(ready > 0)
    }

    pub(crate) fn signal(&self, signal: Signal) -> rustix::io::Result<()> {
        self.pidfd.as_ref().map_or(Ok(()), |pidfd| pidfd_send_signal(pidfd, signal))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // Fails only if it has ended already, which is fine.
        let _ = self.signal(Signal::KILL);
    }
}
