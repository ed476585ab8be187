//! Threads that only compute share CPUs by weight, and none starves.

use anyhow::{Result, ensure};

use super::bench::{Bench, RESTART};

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
    let [heavy, light] = bench.contend(6, &[], ["heavy cpus=0", "light cpus=0 nice=19"])?;
    bench.figures = format!(": {:.2} and {:.2} s", heavy.cpu_s, light.cpu_s);
    ensure!(
        heavy.cpu_s > 20.0 * light.cpu_s && light.cpu_s > 0.0,
        "they had {:.2} and {:.2} s",
        heavy.cpu_s,
        light.cpu_s
    );
    bench.in_force()
}
