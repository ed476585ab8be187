//! Threads without traffic share CPUs by weight, none starves, and none waits while CPUs idle.

use anyhow::{Context, Result, ensure};

use super::bench::{Bench, RESTART};
use steer_traffic::wake::WakeReport;

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

/// The waker works for 5 ms after each wake-up. Three other CPUs idle.
pub(super) fn waker_goes_on(bench: &mut Bench) -> Result<()> {
    let said = bench.script("steer-bench wake --cpu 0 --turns 50 --work-ms 5")?;
    let WakeReport { waits_ms } =
        serde_json::from_str(&said).context("reading how long the thread waited")?;
    let median = waits_ms[waits_ms.len() / 2];
    let waited = format!("it waited {median:.2} ms of the 5 that its waker worked");
    bench.figures = format!(": {waited}");
    ensure!(median < 1.0, "{waited}");
    bench.in_force()
}

/// While threads wake on busy CPUs: prints how often the scheduler kicked the CPU that it ran on, and
/// how often any.
const COUNT_KICKS: &str = r#"
cd /sys/kernel/tracing
echo 'p:kicks scx_bpf_kick_cpu cpu=$arg1:s32' > kprobe_events
echo 'hist:keys=cpu,common_cpu' > events/kprobes/kicks/trigger
steer-bench contend --duration 4 --group 'sleepers threads=14 run-ms=1 sleep-ms=3' > /dev/null
awk '$1 == "{" { gsub(/[^0-9]+/, " "); all += $3; if ($1 == $2) own += $3 }
     END { print own + 0, all + 0 }' events/kprobes/kicks/hist
echo '!hist:keys=cpu,common_cpu' > events/kprobes/kicks/trigger
echo > kprobe_events
"#;

/// A thread that wakes and has to wait may arrive at a CPU that idles meanwhile. The kernel wakes
/// that CPU by itself; to kick it would cost it another interrupt. One kick of 30 was such a one.
pub(super) fn own_kicks(bench: &mut Bench) -> Result<()> {
    let [own, all] = bench.numbers(COUNT_KICKS)?;
    bench.figures = format!(": {own} of {all} kicks");
    ensure!(all > 500.0, "only {all} kicks: too few to tell");
    ensure!(100.0 * own < all, "CPUs kicked themselves {own} times, others {} times", all - own);
    bench.in_force()
}

/// A thread of the stop class takes a CPU for a moment, also while packets wake the CPU's own kernel
/// thread, which a small `dev_weight` makes frequent. That costs no other thread its slice: the
/// kernel would complain.
pub(super) fn interrupted(bench: &mut Bench) -> Result<()> {
    bench.script(
        "ip link set lo up; cd /proc/sys/net/core; before=$(cat dev_weight); echo 1 > dev_weight; \
         steer-bench client --server 127.0.0.1 --duration 4 & client=$!; \
         while taskset -ap 5 $client && taskset -ap a $client; do :; done; \
         wait $client; ended=$?; echo $before > dev_weight; exit $ended",
    )?;
    bench.in_force()
}
