//! Contracts of a shared host that must never break: shares and limits of cgroups, and real-time
//! threads. `steer-bench lab contracts` compares many more with the kernel's own scheduler.

use std::ops::RangeInclusive;

use anyhow::{Context, Result, ensure};

use super::bench::{Bench, RESTART, groups_of};
use steer_scenario::scheduler;
use steer_traffic::contend::GroupReport;

/// A limit may be exceeded by this part of it,
const LIMIT: f64 = 1.05;
/// and by so many seconds for each thread: each may run on until a tick, and the time after the
/// window repays it. Ticks of a busy machine come late.
const OVERRUN_S: f64 = 0.01;
/// ... and at least this part of it can be used, even by an emulated CPU.
const USABLE: f64 = 0.75;

/// The number of threads in a cgroup must not matter for its share.
pub(super) fn weight(bench: &mut Bench) -> Result<()> {
    let cgroups = ["a weight=100", "b weight=300"];
    let groups = ["four cgroup=a threads=4 cpus=0", "one cgroup=b cpus=0"];
    let [four, one] = bench.contend(4, &cgroups, groups)?;
    let share = four.cpu_s / (four.cpu_s + one.cpu_s);
    bench.figures = format!(": {share:.3} of the CPU for weight 100 beside 300");
    ensure!((0.225..=0.275).contains(&share), "weight 100 has {share:.3} of the CPU beside 300");
    bench.in_force()
}

/// Two threads that may use both CPUs of a cache, and a third of weight 110 that may use one.
const BESIDE_BOUND: [&str; 2] = ["wide cpus=2-3 threads=2", "bound cpus=2 nice=10"];

/// By weight the third gets 110 of 2158. The kernel's own scheduler gives it three times as much.
/// Several times, as it may depend on the moment at which each CPU looks for a thread.
pub(super) fn bound(bench: &mut Bench) -> Result<()> {
    for _ in 0..4 {
        let groups = bench.contend(4, &[], BESIDE_BOUND)?;
        by_weight(bench, &groups, 0.04..=0.055)?;
    }
    Ok(())
}

/// The same, while a thread of weight 15 (nice 19) comes from the CPUs of this cache again and again
/// and has one of the other cache's to itself. There its virtual time passes 68 times as fast.
pub(super) fn stray(bench: &mut Bench) -> Result<()> {
    let [wide, bound] = BESIDE_BOUND;
    let said = bench.script(&format!(
        "sh -c 'renice -n 19 $$; while :; do :; done' & stray=$!; \
         while sleep 0.2; do taskset -p 4 $stray; taskset -p f $stray; done > /dev/null & mover=$!; \
         steer-bench contend --duration 5 --group '{wide}' --group '{bound}'; kill $mover $stray"
    ))?;
    by_weight(bench, &groups_of(&said)?, 0.03..=0.08)
}

/// Checks that the bound thread got what its weight asks for, within `bounds`.
fn by_weight(
    bench: &mut Bench,
    [wide, bound]: &[GroupReport; 2],
    bounds: RangeInclusive<f64>,
) -> Result<()> {
    let share = bound.cpu_s / (wide.cpu_s + bound.cpu_s);
    let had = format!("{share:.3} of two CPUs, {:.2} s beside {:.2} s", bound.cpu_s, wide.cpu_s);
    bench.figures = format!(": nice 10 had {had} of nice 0");
    ensure!(bounds.contains(&share), "the bound thread had {had}");
    bench.in_force()
}

/// By weight alone, a SCHED_IDLE thread beside one of nice -20 waits 29,587 slices for its turn.
pub(super) fn light(bench: &mut Bench) -> Result<()> {
    let groups = ["strong cpus=0 nice=-20", "light cpus=0 policy=idle"];
    let [_, light] = bench.contend(16, &[], groups)?;
    let longest = light.longest_pause_ms();
    bench.figures = format!(": it never waited longer than {longest:.0} ms");
    // its turn is one tick after 5 s; a busy machine may not run the guest's CPU in that tick
    ensure!(longest < 12_000.0, "it waited {longest:.0} ms");
    bench.in_force()
}

/// Limits hold for cgroups that are made while scx_steer runs, for all below them, and for cgroups
/// that existed before it was loaded.
pub(super) fn max(bench: &mut Bench) -> Result<()> {
    let cgroups = ["a max=20%", "b max=60%", "b/x", "b/y"];
    let groups = ["a cgroup=a threads=4", "x cgroup=b/x threads=2", "y cgroup=b/y threads=2"];
    let seconds = 4;
    let [a, x, y] = bench.contend(seconds, &cgroups, groups)?;
    let cpus = |cpu_s: f64| cpu_s / f64::from(seconds);
    let used = [
        ("20", 0.2, 4, cpus(a.cpu_s)),
        ("60 for a parent", 0.6, 4, cpus(x.cpu_s + y.cpu_s)),
        ("30 from before it was loaded", 0.3, 2, limited_before(bench)?),
    ];
    let said = used.map(|(name, _, _, had)| format!("{:.1} of {name}", had * 100.0));
    let said = format!("in percent of a CPU, {}", said.join(", "));
    let kept = |(_, quota, threads, had): &(_, f64, i32, f64)| {
        let overrun = OVERRUN_S * f64::from(*threads) / f64::from(seconds);
        (quota * USABLE..=quota * LIMIT + overrun).contains(had)
    };
    ensure!(used.iter().all(kept), "used {said}");
    bench.figures = format!(": {said}");
    bench.in_force()
}

/// CPUs that a cgroup with a limit of 0.3 uses. It had the limit before scx_steer was loaded.
fn limited_before(bench: &mut Bench) -> Result<f64> {
    scheduler::unload(&mut bench.guest.link, libc::SIGTERM)?;
    bench.script(
        "echo +cpu > /sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/limited; \
         echo '30000 100000' > /sys/fs/cgroup/limited/cpu.max",
    )?;
    let busy = "echo 0 > /sys/fs/cgroup/limited/cgroup.procs; exec steer-bench contend --threads 2 \
                --duration 3600";
    bench.guest.link.spawn("limited", &["sh", "-c", busy])?;
    bench.load()?;
    // Microseconds that the cgroup ran, and seconds since boot.
    let figures = bench.numbers(
        "look() { grep usage_usec /sys/fs/cgroup/limited/cpu.stat; cat /proc/uptime; }; \
         sleep 1; look; sleep 4; look",
    );
    bench.guest.link.signal("limited", libc::SIGKILL)?;
    bench.guest.link.wait("limited", RESTART)?;
    bench.script("rmdir /sys/fs/cgroup/limited")?;
    let [ran, at, _, ran_then, then, _] = figures?;
    Ok((ran_then - ran) / 1e6 / (then - at))
}

/// A CPU that was idle and is now busy needs another speed, and schedutil is to be told.
pub(super) fn speed(bench: &mut Bench) -> Result<()> {
    bench.script("sleep 1")?;
    let before = hints(bench)?;
    bench.contend(3, &[], ["busy cpus=0"])?;
    let told = hints(bench)? - before;
    bench.figures = format!(": told {told:.0} times");
    ensure!(told > 0.0, "the governor was told nothing");
    bench.in_force()
}

/// How often a CPU was told how fast to run, since scx_steer was loaded.
fn hints(bench: &mut Bench) -> Result<f64> {
    let metric = "scx_steer_speed_hints_total ";
    let said = bench.script("scx_steer metrics --socket /var/run/scx/root/stats --textfile /tmp/metrics; cat /tmp/metrics")?;
    let value = said.lines().find_map(|line| line.strip_prefix(metric));
    value.with_context(|| format!("no {metric}"))?.parse().context(metric)
}

/// What lets SCHED_FIFO threads run without end, and how long they may.
const THROTTLE: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// A SCHED_FIFO hog takes CPU 2, and nothing throttles it, for so long that the kernel's watchdog
/// ejects a scheduler (10 s, looked at every 5 s) if any thread waits for that CPU. Threads that may
/// run elsewhere must do so.
pub(super) fn real_time(bench: &mut Bench) -> Result<()> {
    let groups =
        ["hog policy=fifo cpus=2", "spinners threads=6", "sleepers threads=4 run-ms=1 sleep-ms=20"];
    let [_, spinners, sleepers] = unthrottled(bench, 16, groups)?;
    let longest = spinners.longest_pause_ms().max(sleepers.longest_pause_ms());
    bench.figures = format!(": no thread waited longer than {longest:.0} ms");
    // Six spinners on three CPUs take turns; far above these, far below starvation.
    ensure!(longest < 2000.0, "a thread waited {longest:.0} ms");
    Ok(())
}

/// A SCHED_FIFO thread wakes a CPU that idles, while threads wait in queues. Before 6.19, the kernel
/// asks the scheduler for a thread even so, and that thread would wait until the other sleeps again.
pub(super) fn real_time_wakes(bench: &mut Bench) -> Result<()> {
    let groups = [
        "hog policy=fifo cpus=2 run-ms=1500 sleep-ms=100",
        "sleepers threads=8 run-ms=2 sleep-ms=6",
    ];
    let [_, sleepers] = unthrottled(bench, 8, groups)?;
    let longest = sleepers.longest_pause_ms();
    bench.figures = format!(": no thread waited longer than {longest:.0} ms");
    ensure!(longest < 750.0, "a thread waited {longest:.0} ms");
    Ok(())
}

/// Lets groups contend while nothing throttles real-time threads.
fn unthrottled<const N: usize>(
    bench: &mut Bench,
    seconds: u16,
    groups: [&str; N],
) -> Result<[GroupReport; N]> {
    let before = bench.guest.link.read(THROTTLE).context("real-time throttling")?;
    bench.guest.link.write(THROTTLE, "-1")?;
    let had = bench.contend(seconds, &[], groups);
    bench.guest.link.write(THROTTLE, &before)?;
    // If the scheduler is gone, its reason says more than what the threads got.
    bench.in_force()?;
    had
}
