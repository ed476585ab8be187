//! Core scheduling (prctl PR_SCHED_CORE): threads with a *cookie* share an SMT core only with threads
//! that have the same cookie. Virtual machine monitors use it, such as cloud-hypervisor by default.
//!
//! Some kernels hang, with all that runs on the host, if such a thread runs under a sched_ext
//! scheduler: since Linux 6.19 (commit 4c95380701f5) the kernel may let go of a lock while it chooses
//! threads for a whole core. Repaired in Linux 7.3 and 7.2.y (commits f2da9587118d, d954004205c1).

use rustix::process::Pid;
use rustix::thread::{CoreSchedulingScope, core_scheduling_cookie, gettid};

use crate::needs::{BTF, release, version};
use crate::root::Root;

/// The first release with the fault.
const SINCE: (u32, u32) = (6, 19);
/// A field of `struct scx_rq` that the repair has added (kernel/sched/sched.h).
const REPAIR: &[u8] = b"\0lock_drop_seq\0";

/// Whether this host's kernel can hang if a thread with a cookie runs under a sched_ext scheduler.
pub fn core_scheduling_hangs() -> bool {
    // ENODEV on a machine without SMT, EINVAL on a kernel without CONFIG_SCHED_CORE
    if core_scheduling_cookie(gettid(), CoreSchedulingScope::Thread).is_err() {
        return false;
    }
    let root = Root::new("/");
    let btf = root.peek(BTF).ok().flatten().unwrap_or_default();
    hangs(&release(&root), &btf)
}

/// The processes that have threads with a cookie now, such as `cloud-hypervisor (4711)`, where the
/// kernel can hang by that; `None` where it cannot.
pub fn core_scheduling_users() -> Option<Vec<String>> {
    core_scheduling_hangs().then(users)
}

/// Whether a kernel that can have cookies has the fault.
fn hangs(release: &str, btf: &[u8]) -> bool {
    version(release).is_some_and(|version| version >= SINCE)
        && !btf.windows(REPAIR.len()).any(|name| name == REPAIR)
}

/// The processes that have threads with a cookie. Without root, only those of the same user are seen.
fn users() -> Vec<String> {
    let root = Root::new("/");
    let numbers = |folder: &str| root.numbered(folder, "").unwrap_or_default();
    let has_cookie = |thread: u32| {
        let thread = i32::try_from(thread).ok().and_then(Pid::from_raw);
        let cookie = |thread| core_scheduling_cookie(thread, CoreSchedulingScope::Thread).ok();
        thread.and_then(cookie).is_some_and(|cookie| cookie != 0)
    };
    let uses = |process: &u32| numbers(&format!("proc/{process}/task")).into_iter().any(has_cookie);
    let named = |process: u32| {
        let name = root.text(&format!("proc/{process}/comm")).ok().flatten().unwrap_or_default();
        format!("{name} ({process})")
    };
    numbers("proc").into_iter().filter(uses).map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_between_the_fault_and_its_repair_hang() {
        let repaired = b"kick_sync\0lock_drop_seq\0clock\0";
        let other = b"kick_sync\0block_drop_seq\0clock\0";
        assert!(!hangs("6.18.15+deb13-cloud-amd64\n", other));
        assert!(hangs("6.19.0\n", other));
        assert!(hangs("7.1.3-xanmod1\n", other));
        assert!(hangs("7.2.1\n", other));
        assert!(!hangs("7.2.13+deb14-amd64\n", repaired));
    }

    #[test]
    #[ignore = "takes a cookie, with which some kernels hang: for a guest with CONFIG_SCHED_CORE"]
    fn a_process_with_a_cookie_is_found() {
        let own = format!("({})", std::process::id());
        assert!(users().iter().all(|user| !user.ends_with(&own)));
        rustix::thread::create_core_scheduling_cookie(gettid(), CoreSchedulingScope::Thread)
            .unwrap();
        assert!(users().iter().any(|user| user.ends_with(&own)), "{:?}", users());
    }
}
