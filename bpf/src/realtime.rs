//! A real-time priority for the moment in which the scheduler is put in force.
//!
//! Some kernels let the thread that loads a sched_ext scheduler hand over all threads to it, itself
//! among the first. From then on it runs behind those that are not handed over yet, as the kernel's
//! own scheduler goes first. If these keep all CPUs busy, it never goes on, and the host hangs. Later
//! kernels have a real-time thread for this (`scx_enable()`, kernel/sched/ext.c: not in 6.18.15, in
//! 7.2.13).

use libc::{SCHED_FIFO, sched_getparam, sched_getscheduler, sched_param, sched_setscheduler};
use log::warn;
use scx_utils::compat;
use std::io::{Error, Result};

/// From here until dropped, the calling thread goes before all others that are not real-time.
#[derive(Debug)]
pub(crate) struct Realtime {
    /// Its policy and priority otherwise.
    before: Option<(i32, sched_param)>,
}

impl Realtime {
    /// Where the kernel needs it; otherwise nothing changes.
    pub(crate) fn where_needed() -> Self {
        // an error: there is no such struct
        let has_a_thread = compat::struct_has_field("scx_enable_cmd", "work").unwrap_or(false);
        if has_a_thread { Self { before: None } } else { Self::new() }
    }

    fn new() -> Self {
        let raised = policy().and_then(|before| {
            set_policy(SCHED_FIFO, sched_param { sched_priority: 1 }).map(|()| before)
        });
        if let Err(error) = &raised {
            warn!(
                "cannot take a real-time priority ({error}): on this kernel, threads that keep all \
                 CPUs busy can now hang the host. Run with CAP_SYS_NICE, or with ulimit -r 1"
            );
        }
        Self { before: raised.ok() }
    }
}

impl Drop for Realtime {
    fn drop(&mut self) {
        let restored = self.before.map_or(Ok(()), |(policy, param)| set_policy(policy, param));
        if let Err(error) = restored {
            warn!("scx_steer keeps its real-time priority: {error}");
        }
    }
}

/// The policy of the calling thread, and its priority.
fn policy() -> Result<(i32, sched_param)> {
    let mut param = sched_param { sched_priority: 0 };
    // SAFETY: 0 is the calling thread, and the kernel writes one `sched_param`.
    let (policy, got) = unsafe { (sched_getscheduler(0), sched_getparam(0, &raw mut param)) };
    if policy < 0 || got < 0 { Err(Error::last_os_error()) } else { Ok((policy, param)) }
}

fn set_policy(policy: i32, param: sched_param) -> Result<()> {
    // SAFETY: 0 is the calling thread, and the kernel reads one `sched_param`.
    let set = unsafe { sched_setscheduler(0, policy, &raw const param) };
    if set < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_as_before_once_the_scheduler_is_in_force() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED the_policy_is_as_before_once_the_scheduler_is_in_force: needs root");
            return;
        }
        let before = policy().unwrap().0;
        let realtime = Realtime::new();
        assert_eq!(policy().unwrap().0, SCHED_FIFO);
        drop(realtime);
        assert_eq!(policy().unwrap().0, before);
    }
}
