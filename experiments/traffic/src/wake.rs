//! Wake-ups between two threads. The waker tells the kernel that it is about to sleep, as each write
//! to a pipe or a UNIX socket does, and goes on. So the thread that it wakes should not wait for it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use super::hog;
use steer_ground::cpus::CpuList;

/// How two threads wake each other.
#[derive(Debug, Clone)]
pub struct WakeOptions {
    /// The waker's CPU, and the one that the other thread used last at each wake-up.
    pub cpu: u16,
    /// Wake-ups.
    pub turns: u16,
    /// How long the waker works after each.
    pub work: Duration,
}

/// What the woken thread saw.
#[derive(Debug, Serialize, Deserialize)]
pub struct WakeReport {
    /// From each wake-up until it ran, in milliseconds, in ascending order.
    pub waits_ms: Vec<f64>,
}

/// Wakes a thread again and again, then prints how long it waited each time as JSON.
///
/// # Errors
/// When the CPU cannot be used, or no thread can be started.
pub fn run(options: &WakeOptions) -> Result<()> {
    let cpu = CpuList::of([options.cpu.into()]).context("--cpu")?;
    cpu.check().context("--cpu")?;
    let (mut bell, ear) = UnixStream::pair().context("making a pair of UNIX sockets")?;
    let (start, turns, there) = (Instant::now(), options.turns, cpu.clone());
    let woken = thread::Builder::new()
        .spawn(move || listen(ear, start, turns, &there))
        .context("cannot start a thread")?;
    cpu.pin_current_thread()?;
    for _ in 0..turns {
        // the other thread comes back to this CPU and sleeps
        thread::sleep(2 * options.work);
        let sent = start.elapsed();
        bell.write_all(&(sent.as_nanos() as u64).to_ne_bytes())?;
        while start.elapsed() < sent + options.work {
            hog::spin();
        }
    }
    let mut waits_ms = woken.join().expect("no thread panics")?;
    waits_ms.sort_by(f64::total_cmp);
    println!("{}", serde_json::to_string(&WakeReport { waits_ms })?);
    Ok(())
}

/// Sleeps until the bell rings, each time after a visit to the waker's CPU, and returns how long
/// after it this thread ran. It may run on any CPU then.
fn listen(mut ear: UnixStream, start: Instant, turns: u16, there: &CpuList) -> Result<Vec<f64>> {
    let anywhere = sched_getaffinity(None).context("cannot read this thread's CPU affinity")?;
    let mut turn = || {
        there.pin_current_thread()?;
        sched_setaffinity(None, &anywhere).context("cannot restore this thread's CPU affinity")?;
        let mut sent = [0; 8];
        ear.read_exact(&mut sent)?;
        let sent = Duration::from_nanos(u64::from_ne_bytes(sent));
        Ok(start.elapsed().saturating_sub(sent).as_secs_f64() * 1e3)
    };
    (0..turns).map(|_| turn()).collect()
}
