//! Threads that only compute share CPUs by weight, and none starves.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::bench::{Bench, RESTART};

/// What `steer-bench contend` prints for each thread.
#[derive(Deserialize)]
struct Had {
    cpu_s: f64,
}

/// A thread from a CPU with a fast virtual time comes to one with a slow virtual time, under the
/// same cache. It must not wait until the threads there have caught up: the kernel would eject the
/// scheduler. A thread of little weight makes virtual time fast.
pub(super) fn newcomer(bench: &mut Bench) -> Result<()> {
    let script = "taskset 1 sh -c 'renice -n 19 $$; exec steer-bench contend --threads 1 \
                  --duration 18' & taskset 2 steer-bench contend --threads 2 --duration 18 & \
                  sleep 5; taskset 2 true; wait";
    let done = bench.guest.link.run(&["sh", "-c", script], 2 * RESTART)?;
    ensure!(done.success(), "a thread failed: {}", done.last_words());
    bench.in_force()
}

/// Two threads on one CPU: one of weight 1024, and one of weight 15 (nice 19).
pub(super) fn weights(bench: &mut Bench) -> Result<()> {
    // The light one begins later and ends sooner, so it never has the CPU to itself.
    let script = "taskset 1 steer-bench contend --threads 1 --duration 12 >/tmp/heavy & sleep 1; \
                  taskset 1 sh -c 'renice -n 19 $$; exec steer-bench contend --threads 1 \
                  --duration 6' >/tmp/light && wait && cat /tmp/heavy /tmp/light";
    let done = bench.guest.link.run(&["sh", "-c", script], 2 * RESTART)?;
    ensure!(done.success(), "a thread failed: {}", done.last_words());
    let mut cpu_s = [0.0; 2];
    for (time, line) in cpu_s.iter_mut().zip(done.stdout.lines()) {
        let [had]: [Had; 1] = serde_json::from_str(line).context("reading what a thread had")?;
        *time = had.cpu_s;
    }
    let [heavy, light] = cpu_s;
    bench.figures = format!(": {heavy:.2} and {light:.2} s");
    ensure!(heavy > 20.0 * light && light > 0.0, "they had {heavy:.2} and {light:.2} s");
    bench.in_force()
}
