//! Kernel threads that NAPI contexts run in, where NAPI is threaded.

use std::io;
use std::path::Path;

use rustix::process::Pid;
use rustix::thread::{CpuSet as Mask, sched_setaffinity};
use steer_topology::CpuSet;

use crate::files;

/// The CPUs that a thread may use, with those that are offline; `None` if it has ended.
pub(crate) fn cpus(root: &Path, thread: u32) -> Option<CpuSet> {
    let status = files::text(&root.join(format!("proc/{thread}/status"))).ok()??;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().parse().ok()
}

/// Says which CPUs a thread may use.
pub(crate) fn set_cpus(thread: u32, cpus: &CpuSet) -> io::Result<()> {
    let thread = i32::try_from(thread).ok().and_then(Pid::from_raw);
    let mut mask = Mask::new();
    for cpu in cpus.iter().map(|cpu| cpu as usize).filter(|cpu| *cpu < Mask::MAX_CPU) {
        mask.set(cpu);
    }
    Ok(sched_setaffinity(Some(thread.ok_or(io::ErrorKind::InvalidInput)?), &mask)?)
}
