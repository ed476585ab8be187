//! Host steering while the scheduler runs, or by itself (`scx_steer nic daemon`): keeps the modes of
//! the host file in force, in a thread of its own, and puts everything back at the end.

mod command;
mod duty;
mod load;
mod status;
mod wishes;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use log::warn;
use steer_nic::Sample;
use steer_topology::DeviceNews;

use super::args::HostArgs;
use crate::signals::Flag;
use duty::Duty;
use wishes::Wishes;

pub(super) use command::run;
pub(crate) use status::HostStatus;
pub(super) use wishes::files;

/// How often the NICs are looked at, if there is no news of them: files of sysfs and procfs change
/// without.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long news waits at most.
const NAP: Duration = Duration::from_millis(100);

/// What users are told if the thread has ended by itself.
const ENDED: &str = "host steering has ended by a fault of its own, the log has more; \
                     `scx_steer nic restore` puts settings back, a restart sets them again";

/// The thread that steers the host. When this value is dropped, the settings have gone back.
pub(crate) struct HostSteering {
    shared: Arc<Shared>,
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and its owner tell each other.
#[derive(Default)]
struct Shared {
    status: Mutex<HostStatus>,
    /// Wake-ups of long-flow threads near their NIC and far from it; `None` without a scheduler.
    placed: Mutex<Option<Placed>>,
}

#[derive(Clone, Copy, Default)]
struct Placed {
    all: Sample,
    /// The scheduler's counters at the last look; they start anew when it is loaded again.
    last: (u64, u64),
}

impl HostSteering {
    /// Reads the host file, and the policy files at `policy` or the installed ones if a NIC needs
    /// them, and starts. `reload` asks to read them again later.
    ///
    /// # Errors
    /// All that is wrong with the files. Nothing is started then.
    pub(crate) fn start(args: &HostArgs, policy: Option<&Path>, reload: Flag) -> Result<Self> {
        let wishes = Wishes::load(args, policy, reload)?;
        let duty = Duty::new(&args.journal.folder)?;
        let news = DeviceNews::listen().context("listening to changes of network interfaces")?;
        let shared = Arc::new(Shared::default());
        let (stop, stopped) = bounded(1);
        let theirs = shared.clone();
        let thread = thread::Builder::new()
            .name("host-steering".into())
            .spawn(move || follow(wishes, duty, &news, &theirs, &stopped))
            .context("starting host steering")?;
        Ok(Self { shared, stop, thread: Some(thread) })
    }

    /// What is in force.
    pub(crate) fn status(&self) -> HostStatus {
        let mut status = locked(&self.shared.status).clone();
        if self.has_ended() {
            status.trouble = Some(ENDED.into());
        }
        status
    }

    /// Has the thread ended by a fault of its own? Nobody asked it to.
    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Tells it how many wake-ups of long-flow threads the scheduler has placed so far near their
    /// NIC, and far from it.
    pub(crate) fn counted(&self, near: u64, far: u64) {
        let mut placed = locked(&self.shared.placed);
        let Placed { all, last } = placed.get_or_insert_default();
        // it was loaded again
        if near < last.0 || far < last.1 {
            *last = (0, 0);
        }
        all.near += near - last.0;
        all.far += far - last.1;
        *last = (near, far);
    }
}

impl Drop for HostSteering {
    fn drop(&mut self) {
        // it fails only if the thread has ended
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread: looks at the NICs until it is stopped, then puts settings back.
fn follow(
    mut wishes: Wishes,
    mut duty: Duty,
    news: &DeviceNews,
    shared: &Shared,
    stopped: &Receiver<()>,
) {
    let mut said: Option<String> = None;
    loop {
        wishes.follow();
        let placed = locked(&shared.placed).map(|placed| placed.all);
        let trouble = duty.look(&wishes, placed).err().map(|error| format!("{error:#}"));
        if let Some(trouble) = trouble.as_ref().filter(|trouble| said.as_ref() != Some(trouble)) {
            warn!("host steering: {trouble}");
        }
        said = trouble;
        *locked(&shared.status) = status::of(&wishes, &duty, said.clone());
        if is_over(news, stopped) {
            break;
        }
    }
    if let Err(error) = duty.end(wishes.on_exit()) {
        warn!("host settings were not put back: {error:#}; try: scx_steer nic restore");
    }
}

/// Waits until the next look is due; true: there shall be none. Looks are a nap apart, however much
/// news there is.
fn is_over(news: &DeviceNews, stopped: &Receiver<()>) -> bool {
    let looked = Instant::now();
    let mut heard = false;
    while !heard && looked.elapsed() < LOOK_EVERY {
        if stopped.recv_timeout(NAP) != Err(RecvTimeoutError::Timeout) {
            return true;
        }
        // what cannot be heard is seen a second later
        heard = news.heard().unwrap_or(false);
    }
    false
}

/// What a thread that panicked left is as good as any other.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_panicked_is_trouble() {
        let (stop, _stopped) = bounded(1);
        let thread = thread::spawn(|| panic!("this panic is a test's"));
        while !thread.is_finished() {
            thread::yield_now();
        }
        let steering = HostSteering { shared: Arc::default(), stop, thread: Some(thread) };
        assert_eq!(steering.status().trouble.as_deref(), Some(ENDED));
    }
}
