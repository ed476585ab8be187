//! Loading takes a second of CPU time or more, most of it the kernel's verification. Until it is done,
//! the kernel's own scheduler is in force, and on a busy host that gives a thread of nice 0 little.

use log::debug;
use rustix::process::{getpriority_process, setpriority_process};

/// The nice value of a thread that is served first.
const FIRST: i32 = -20;

/// Lets the calling thread run before others. Without CAP_SYS_NICE it runs like the others.
#[derive(Debug)]
pub(crate) struct Hurry {
    /// Its nice value otherwise.
    before: Option<i32>,
}

impl Hurry {
    pub(crate) fn new() -> Self {
        // `None` is the calling thread, on Linux
        let hurried = getpriority_process(None)
            .and_then(|before| setpriority_process(None, FIRST).map(|()| before));
        if let Err(error) = hurried {
            debug!("cannot load with nice {FIRST}: {error}");
        }
        Self { before: hurried.ok() }
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        let restored = self.before.map_or(Ok(()), |nice| setpriority_process(None, nice));
        if let Err(error) = restored {
            debug!("the nice value stays {FIRST}: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nice_is_as_before_after_loading() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED nice_is_as_before_after_loading: needs root");
            return;
        }
        let before = getpriority_process(None).unwrap();
        let hurry = Hurry::new();
        assert_eq!(getpriority_process(None).unwrap(), FIRST);
        drop(hurry);
        assert_eq!(getpriority_process(None).unwrap(), before);
    }
}
