//! Threads that only compute, and must share CPUs: by weight, and nobody starves.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::bench::{Bench, RESTART};

/// Of `steer-bench contend`.
#[derive(Deserialize)]
struct Had {
    cpu_s: f64,
}

/// Who comes to a CPU whose threads have long run less than another under the same cache does not
/// wait until they have caught up: the kernel would throw the scheduler out. A light thread makes
/// the other's virtual time fast.
pub(super) fn newcomer(bench: &mut Bench) -> Result<()> {
    let script = "taskset 1 sh -c 'renice -n 19 $$; exec steer-bench contend --threads 1 \
                  --duration 18' & taskset 2 steer-bench contend --threads 2 --duration 18 & \
                  sleep 5; taskset 2 true; wait";
    let done = bench.guest.link.run(&["sh", "-c", script], 2 * RESTART)?;
    ensure!(done.success(), "a thread failed: {}", done.last_words());
    bench.in_force()
}

/// Two threads on one CPU: of weight 1024 and, nice 19, of 15.
pub(super) fn weights(bench: &mut Bench) -> Result<()> {
    // the light one begins later and ends sooner, and never has the CPU to itself
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
