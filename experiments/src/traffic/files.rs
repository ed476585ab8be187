//! Room for many open files: a connection is one.

use std::fs;

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// What a process may have open beside its RPC connections: long flows, most of all.
const BESIDE: u64 = 2000;

/// Sees to it that so many connections can be open at once.
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
        "{connections} connections need {need} open files, and this process may have {}: raise the \
         limit (ulimit -Hn {need}), or run with CAP_SYS_RESOURCE, which root has but for some containers{}",
        limit.maximum.unwrap_or_default(),
        most().filter(|most| *most < need).map_or_else(String::new, |most| format!(
            "; also fs.nr_open, which is {most} (sysctl fs.nr_open={need})"
        ))
    );
    Ok(())
}

/// How many connections can be open within the limit.
pub(crate) fn room() -> usize {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    usize::try_from(most.saturating_sub(BESIDE)).unwrap_or(usize::MAX)
}

/// Gives this thread a table of open files of its own, a copy of the process's: the limit is one of
/// tables.
///
/// # Errors
/// When memory is short.
///
/// # Safety
/// A descriptor's number means another file, or none, in another table: from here on this thread must
/// use none that another one opens, nor give away what it opens, not to be closed either.
pub(crate) unsafe fn unshare() -> Result<()> {
    // SAFETY: what is open by now stays so in both tables; of the rest the caller takes care.
    unsafe { unshare_unsafe(UnshareFlags::FILES) }.context("cannot have open files of its own")
}

/// The most that even root may allow a process.
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
