//! `steer-bench lab soak`: everything at once, for minutes: traffic, stress-ng, cgroups and a CPU that
//! come and go, changing policies of every class, threads of all weights, limits and cpusets, real-time
//! hogs. Nothing may stall, the kernel must not eject the scheduler, and must not complain.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::bench::{Bench, RESTART, moved};
use super::{situation, status};
use steer_ground::progress::Progress;
use steer_ground::tool;
use steer_lab::fresh::Boots;
use steer_lab::guest::{Guest, GuestOptions};
use steer_scenario::scheduler::JOB;
use steer_scenario::workload::Workload;

/// How long to soak, and with what.
#[derive(Debug, Clone)]
pub struct SoakOptions {
    /// How long.
    pub minutes: u32,
    /// Folder for `console.log` and, after a failure, `scheduler.log`.
    pub out: PathBuf,
    /// The traffic, and what runs beside it.
    pub workload: Workload,
    /// The guest.
    pub guest: GuestOptions,
}

/// For scx_steer to load again: the kernel's verification shares the emulated CPUs with all that
/// runs here, some of it real-time. It took 65 s on a quiet machine.
const RELOAD: Duration = Duration::from_secs(300);

/// What runs beside the traffic, by name: shell scripts that never end.
const CHURN: [(&str, &str); 5] = [
    // CPU work, short-lived processes, threads that change their affinity, wake-ups.
    ("stress", "exec stress-ng --quiet --cpu 1 --fork 1 --affinity 1 --pipe 1 --timeout 0"),
    (
        "cgroups",
        "c=/sys/fs/cgroup/lab; mkdir -p $c; i=0; while :; do i=$((i + 1)); mkdir $c/$i; \
         (echo 0 > $c/$i/cgroup.procs; sleep 0.2); rmdir $c/$i; done",
    ),
    // Each class, pools, an exclusive CPU, and none of these.
    (
        "policies",
        "put() { printf '[[rule]]\\ncgroup = \"/\"\\nprocess = \"steer-bench\"\\n%s\\n' \"$1\" \
         > /tmp/next.toml; mv /tmp/next.toml /tmp/policy.toml; sleep 3; }; \
         while :; do for class in long short none auto; do put \"class = \\\"$class\\\"\"; done; \
         put 'pool = \"nic-local\"'; put 'pool = \"remote\"'; put 'reserve = 1'; \
         put \"$(printf 'pool = \"1\"\\nexclusive = true')\"; put 'granularity = \"process\"'; done",
    ),
    // Both make their cgroups and remove them again.
    (
        "contend",
        "while steer-bench contend --duration 3 --cgroup 'm weight=300' --cgroup 'm/a max=30%' \
         --cgroup 'm/b weight=10 max=150% burst-ms=50' --cgroup 'i idle=1' \
         --group 'a cgroup=m/a threads=3' --group 'b cgroup=m/b threads=3' \
         --group 'i cgroup=i threads=2' --group 'low nice=19' --group 'idle policy=idle' \
         --group 'high nice=-10 run-ms=5 sleep-ms=20' && \
         steer-bench contend --duration 3 --cgroup 'bound cpus=2-3 weight=10000' \
         --group 'hog policy=fifo cpus=2 run-ms=500 sleep-ms=100' \
         --group 'bound cgroup=bound threads=4' --group 'sleepers threads=4 run-ms=1 sleep-ms=20'; \
         do sleep 1; done",
    ),
    (
        "hotplug",
        // Not before scx_steer is in force again, which takes a minute under this load in an emulated
        // guest. The CPU goes offline while it is the only one that some threads may use.
        "cpu=/sys/devices/system/cpu/cpu1/online; trap 'echo 1 > $cpu; exit' TERM; \
         pause() { sleep 10; until grep -q enabled /sys/kernel/sched_ext/state; do sleep 1; done; \
         sleep 30; }; while :; do pause; until grep -q exclusive /tmp/policy.toml; do sleep 1; done; \
         echo 0 > $cpu; pause; echo 1 > $cpu; done",
    ),
];

/// Soaks.
///
/// # Errors
/// At the first failure, or when the guest's kernel complains.
pub fn run(mut options: SoakOptions) -> Result<()> {
    options.workload.check()?;
    options.workload.check_own("lab soak")?;
    options.guest.extra.push(tool::installed("stress-ng", "apt install stress-ng")?);
    fs::create_dir_all(&options.out)
        .with_context(|| format!("creating {}", options.out.display()))?;
    let progress = Progress::rounds(options.minutes.into());
    let boot = || {
        let console = options.out.join("console.log");
        let guest = Guest::boot(&options.guest, Some(&console), &progress)?;
        let mut bench = Bench::new(guest, options.workload.clone(), false)?;
        bench.reload = RELOAD;
        Ok(bench)
    };
    let mut bench = boot()?;
    let summary = Boots::first().run(&mut bench, &progress, boot, |bench| {
        let soaked = soak(bench, options.minutes, &progress);
        let soaked = bench.guest.survive(soaked)?;
        if soaked.is_err() {
            progress.say(&match keep_log(bench, &options.out) {
                Ok(()) => format!("console and scheduler's log: {}", options.out.display()),
                Err(error) => format!("the scheduler's log is lost: {error:#}"),
            });
        }
        soaked
    })?;
    let complaints = bench.guest.complaints()?;
    drop(progress);
    ensure!(complaints.is_empty(), "the guest's kernel complains: {}", complaints.join(" | "));
    println!("{summary} on {}", bench.guest.release);
    Ok(())
}

/// Writes what the scheduler has said to `scheduler.log` in `folder`.
fn keep_log(bench: &mut Bench, folder: &Path) -> Result<()> {
    let log = folder.join("scheduler.log");
    let said = bench.guest.link.so_far(JOB)?.stderr;
    fs::write(&log, said).with_context(|| format!("writing {}", log.display()))
}

/// Runs everything, and returns a summary.
fn soak(bench: &mut Bench, minutes: u32, progress: &Progress) -> Result<String> {
    const TIMES_ENABLED: &str = "/sys/kernel/sched_ext/enable_seq";
    bench.start()?;
    let enabled: u32 = bench.guest.link.read(TIMES_ENABLED)?.parse()?;
    // as on a host with systemd; otherwise each turn of contend switches them on and off
    bench.guest.link.write("/sys/fs/cgroup/cgroup.subtree_control", "+cpu +cpuset")?;
    for (name, script) in CHURN {
        bench.guest.link.spawn(name, &["sh", "-c", script])?;
    }
    let (start, mut rounds, mut done) = (Instant::now(), 0, 0);
    while start.elapsed() < Duration::from_secs(60) * minutes {
        rounds += 1;
        progress.step(format!("{} s, traffic {rounds}", start.elapsed().as_secs()));
        let traffic = bench.start_traffic()?;
        let passed = traffic.finish(&bench.guest.net).and_then(|(report, _)| moved(&report));
        let passed = passed.context("the traffic did not survive").and_then(|()| bench.in_force());
        if let Err(error) = passed {
            return Err(error.context(situation::describe(bench)?));
        }
        let passed = start.elapsed().as_secs() / 60;
        (done..passed).for_each(|_| progress.advance());
        done = passed;
    }
    for (name, _) in CHURN {
        let ended = bench.guest.link.ended(name, Duration::ZERO)?;
        ensure!(ended.is_none(), "{name} ended: {}", ended.unwrap_or_default().last_words());
        bench.guest.link.signal(name, libc::SIGTERM)?;
        if bench.guest.link.ended(name, RESTART)?.is_none() {
            bench.guest.link.signal(name, libc::SIGKILL)?;
        }
    }
    bench.in_force()?;
    let restarts = bench.guest.link.read(TIMES_ENABLED)?.parse::<u32>()? - enabled;
    let policies = status::status(bench)?.policy.reloads;
    bench.stop()?;
    Ok(format!(
        "{minutes} minutes: traffic {rounds} times, {policies} policies, {restarts} restarts as a \
         CPU went or came, no stall, no complaint of the kernel"
    ))
}
