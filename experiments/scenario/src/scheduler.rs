//! Loads sched_ext schedulers on the measured machine, and asks its kernel which one is in force.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use steer_lab::agent::{Finished, Link};

/// Name of the scheduler among the agent's programs.
pub const JOB: &str = "scheduler";
/// An emulated guest takes seconds to verify scx_steer. scx_layered took 60 s.
const LOAD: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(200);

/// Starts a scheduler and waits until it is in force. Returns the kernel's name for it.
///
/// # Errors
/// When it ends instead (the error quotes its output), or does not load in time.
pub fn load(link: &mut Link, argv: &[String]) -> Result<String> {
    link.spawn(JOB, argv)?;
    let deadline = Instant::now() + LOAD;
    while Instant::now() < deadline {
        if let Some(name) = in_force(link)? {
            return Ok(name);
        }
        if let Some(finished) = link.ended(JOB, POLL)? {
            bail!("{} did not load (code {:?}): {}", argv[0], finished.code, finished.last_words());
        }
    }
    bail!("{} was not in force within {LOAD:?}", argv[0])
}

/// Stops the scheduler with a signal, and waits until the kernel's own is back.
///
/// # Errors
/// When it does not exit with 0, or the kernel's own scheduler does not come back.
pub fn unload(link: &mut Link, signal: i32) -> Result<Finished> {
    link.signal(JOB, signal)?;
    let finished = link.wait(JOB, Duration::from_secs(30))?;
    ensure!(
        finished.success(),
        "the scheduler ended with code {:?}: {}",
        finished.code,
        finished.last_words()
    );
    wait_for_default(link)?;
    Ok(finished)
}

/// The sched_ext scheduler in force; `None` for the kernel's own.
pub fn in_force(link: &mut Link) -> Result<Option<String>> {
    if !available(link)? || link.read("/sys/kernel/sched_ext/state")? != "enabled" {
        return Ok(None);
    }
    // The file disappears with the scheduler, which may happen between the two reads.
    Ok(link.read("/sys/kernel/sched_ext/root/ops").ok())
}

/// Whether the kernel has sched_ext at all.
pub fn available(link: &mut Link) -> Result<bool> {
    Ok(link.list("/sys/kernel")?.iter().any(|name| name == "sched_ext"))
}

fn wait_for_default(link: &mut Link) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(15);
    let mut state = String::new();
    while Instant::now() < deadline {
        state = link.read("/sys/kernel/sched_ext/state")?;
        if state == "disabled" {
            return Ok(());
        }
        thread::sleep(POLL);
    }
    bail!("the kernel's own scheduler is not back: sched_ext is {state}")
}
