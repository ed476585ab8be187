//! Runs a program on each CPU at a steady rate.

use std::os::fd::IntoRawFd;

use anyhow::{Context, Result};
use libbpf_rs::{Link, ProgramMut};
use perf_event::{Builder, events::Software};

/// Samples per CPU and second: not a multiple of the scheduler's ticks, so that it does not fall in
/// step with them.
const HZ: u64 = 99;
/// Time between two samples.
pub(crate) const INTERVAL_NS: u64 = 1_000_000_000 / HZ;

/// Starts the timers of these CPUs. They run until the links are dropped.
///
/// # Errors
/// The kernel refused a timer or the program. A CPU that is offline by now is no error.
pub(crate) fn start(
    program: &ProgramMut<'_>,
    cpus: impl IntoIterator<Item = usize>,
) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    for cpu in cpus {
        // The idle thread too: a softirq that ends a sleep runs in it.
        let timer = Builder::new(Software::CPU_CLOCK)
            .any_pid()
            .one_cpu(cpu)
            .exclude_kernel(false)
            .exclude_hv(false)
            .sample_period(INTERVAL_NS)
            .build();
        match timer {
            // libbpf closes it with the link
            Ok(timer) => links.push(program.attach_perf_event(timer.into_raw_fd())?),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
            Err(error) => {
                return Err(error).context(format!("starting a timer that samples CPU {cpu}"));
            }
        }
    }
    Ok(links)
}
