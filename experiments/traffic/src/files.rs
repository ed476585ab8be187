//! Raises the limit of open files: each connection is one.

use std::fs;

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Open files allowed besides RPC connections, mostly long flows.
const BESIDE: u64 = 2000;

/// Raises the limit so that this many connections can be open at once.
///
/// # Errors
/// Names the limit that is too low, and how to raise it.
pub(crate) fn allow(connections: u64) -> Result<()> {
    let need = connections + BESIDE;
    let limit = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| need <= limit);
    if enough(limit.current) {
        return Ok(());
    }
    let maximum = if enough(limit.maximum) { limit.maximum } else { Some(need) };
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(need), maximum });
    ensure!(
        raised.is_ok(),
        "{connections} connections need {need} open files, but this process may have only {}: raise the \
         limit (ulimit -Hn {need}), or run with CAP_SYS_RESOURCE, which root has except in some containers{}",
        limit.maximum.unwrap_or_default(),
        most().filter(|most| *most < need).map_or_else(String::new, |most| format!(
            "; also fs.nr_open, which is {most} (sysctl fs.nr_open={need})"
        ))
    );
    Ok(())
}

/// How many connections the limit allows.
pub(crate) fn room() -> usize {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    usize::try_from(most.saturating_sub(BESIDE)).unwrap_or(usize::MAX)
}

/// Gives this thread its own table of open files, a copy of the process's. The limit applies to
/// each table.
///
/// # Errors
/// When memory is short.
///
/// # Safety
/// In another table, the same descriptor number means another file, or none. From here on, this
/// thread must not use descriptors that another thread opens. It must not pass its own to another
/// thread, not even to be closed.
pub(crate) unsafe fn unshare() -> Result<()> {
    // SAFETY: files that are open now stay open in both tables. The caller takes care of later
    // ones.
    unsafe { unshare_unsafe(UnshareFlags::FILES) }
        .context("cannot give a thread its own table of open files")
}

/// The highest limit that even root can set for a process.
fn most() -> Option<u64> {
    fs::read_to_string("/proc/sys/fs/nr_open").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_named() {
        allow(0).unwrap();
        let error = allow(1 << 40).unwrap_err().to_string();
        assert!(
            error.contains("ulimit -Hn 1099511629776") && error.contains("fs.nr_open="),
            "{error}"
        );
    }
}
