//! Reports when the policy files may have changed. It watches folders instead of files, because
//! editors and configuration managers replace a file with a new one.

use std::{
    collections::HashMap,
    ffi::OsString,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result};
use crossbeam_channel::{Receiver, Sender, bounded};
use log::warn;
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    fs::inotify::{self, CreateFlags, WatchFlags},
    io::Errno,
};

/// Changes often come in groups (an editor, a checkout). A report waits until no change came for
/// this long ...
const QUIET: Duration = Duration::from_millis(100);
/// ... but at most this many times, in case changes never stop.
const MAX_PAUSES: usize = 20;

/// A watch over the policy files. It ends when dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    changes: Receiver<()>,
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches `path`, a folder or a file, which need not exist yet. Targets of symbolic links
    /// outside the folder are not watched.
    ///
    /// # Errors
    /// The kernel allows this user no more watches, or a folder above `path` cannot be read.
    pub(crate) fn start(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).context("watching the policy files")?;
        let watched = Watched::arm(&path)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC).context("watching the policy files")?;
        let stopped = stop.try_clone().context("watching the policy files")?;
        // One pending report is enough for any number of changes.
        let (sender, changes) = bounded(1);
        let thread = thread::Builder::new()
            .name("policy-watch".into())
            .spawn(move || {
                if let Err(error) = follow(&path, watched, &stopped, &sender) {
                    warn!(
                        "policy files are no longer watched, send SIGHUP after a change: {error:#}"
                    );
                }
            })
            .context("watching the policy files")?;
        Ok(Self { changes, stop, thread: Some(thread) })
    }

    /// Receives a message after each change that may concern the policy.
    pub(crate) fn changes(&self) -> &Receiver<()> {
        &self.changes
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // This can only fail if the eventfd is full, and then the thread ends as well.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reports changes until it is stopped.
fn follow(path: &Path, mut watched: Watched, stop: &OwnedFd, changes: &Sender<()>) -> Result<()> {
    while watched.wait(stop, None)? {
        if !watched.drain()? {
            continue;
        }
        for _ in 0..MAX_PAUSES {
            if !watched.wait(stop, Some(QUIET))? {
                break;
            }
            watched.drain()?;
        }
        // Watch anew, because the folder itself may have been created, removed or replaced. Do it
        // before the report, so that changes made while the files are read are reported again.
        watched = Watched::arm(path)?;
        if changes.try_send(()).is_err_and(|error| error.is_disconnected()) {
            break;
        }
    }
    Ok(())
}

/// The folders that are watched now: the policy folder, if it exists, and every folder above it,
/// because any of them may be replaced.
struct Watched {
    inotify: OwnedFd,
    /// By watch descriptor: the one name that matters in this folder, or `None` if all names do.
    names: HashMap<i32, Option<OsString>>,
}

impl Watched {
    /// Watches the absolute `path`, from the root down. So a folder that is created meanwhile is
    /// either found here or seen as an event.
    fn arm(path: &Path) -> Result<Self> {
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let inotify = inotify::init(flags).context("inotify_init1")?;
        let mask = WatchFlags::ONLYDIR
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        let mut names = HashMap::new();
        let mut folder = PathBuf::new();
        let mut components = path.components().peekable();
        while let Some(component) = components.next() {
            folder.push(component);
            let below = components.peek().map(|below| below.as_os_str().to_os_string());
            match inotify::add_watch(&inotify, &folder, mask) {
                Ok(watch) => drop(names.insert(watch, below)),
                // It is a file, or does not exist yet.
                Err(Errno::NOTDIR | Errno::NOENT) if !names.is_empty() => break,
                // This folder may be entered but not read, so its replacement is not noticed.
                Err(Errno::ACCESS) if below.is_some() => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("watching {}", folder.display()));
                }
            }
        }
        Ok(Self { inotify, names })
    }

    /// Waits for an event, at most `timeout`. False if none came or `stop` was raised.
    fn wait(&self, stop: &OwnedFd, timeout: Option<Duration>) -> Result<bool> {
        let timeout = timeout.map(Timespec::try_from).transpose()?;
        loop {
            let mut fds =
                [PollFd::new(&self.inotify, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(_) => return Ok(fds[1].revents().is_empty() && !fds[0].revents().is_empty()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error).context("waiting for changes"),
            }
        }
    }

    /// Takes all events. True if one of them matters.
    fn drain(&self) -> Result<bool> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut matters = false;
        loop {
            match events.next() {
                Ok(event) => {
                    matters |= match (event.file_name(), self.names.get(&event.wd())) {
                        (Some(given), Some(Some(name))) => given.to_bytes() == name.as_bytes(),
                        // The event is about a folder, or all names matter, or events were lost.
                        _ => true,
                    };
                }
                Err(Errno::WOULDBLOCK) => return Ok(matters),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error).context("reading changes"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Long enough for any machine. Only a failing test waits this long.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn changed(watch: &Watch) {
        watch.changes().recv_timeout(PATIENCE).unwrap();
    }

    #[test]
    fn edits_renames_and_removals_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let watch = Watch::start(dir.path()).unwrap();
        fs::write(dir.path().join("a.toml"), "x").unwrap();
        changed(&watch);
        fs::rename(dir.path().join("a.toml"), dir.path().join("b.toml")).unwrap();
        changed(&watch);
        fs::remove_file(dir.path().join("b.toml")).unwrap();
        changed(&watch);
    }

    #[test]
    fn a_folder_may_appear_later_and_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let policy = dir.path().join("scx_steer/policy.d");
        let watch = Watch::start(&policy).unwrap();
        fs::create_dir_all(&policy).unwrap();
        changed(&watch);
        fs::write(policy.join("a.toml"), "x").unwrap();
        changed(&watch);
        fs::rename(dir.path().join("scx_steer"), dir.path().join("old")).unwrap();
        fs::create_dir_all(&policy).unwrap();
        fs::write(policy.join("b.toml"), "x").unwrap();
        changed(&watch);
    }

    #[test]
    fn of_a_single_file_its_neighbours_do_not_matter() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("policy.toml");
        fs::write(&file, "x").unwrap();
        let watched = Watched::arm(&file).unwrap();
        fs::write(dir.path().join("neighbour.toml"), "x").unwrap();
        assert!(!watched.drain().unwrap());
        fs::write(dir.path().join("new"), "x").unwrap();
        fs::rename(dir.path().join("new"), &file).unwrap();
        assert!(watched.drain().unwrap());
    }

    #[test]
    fn a_watch_ends_when_dropped() {
        let dir = tempfile::tempdir().unwrap();
        drop(Watch::start(dir.path()).unwrap());
    }
}
