//! Checks of policies for cgroups, under load.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::bench::{Bench, FILE, moved};
use super::served::{Server, share_near_the_nic};
use super::status::{self, Policy, Steering};

const PATIENCE: Duration = Duration::from_secs(60);
/// How often the policy is turned around.
const FLIPS: usize = 100;

/// The share of CPU 1's time, over ten seconds, that the thread pinned there does not get. This
/// thread never sleeps, so other threads, softirq and interrupts take that share.
fn foreign_share(bench: &mut Bench) -> Result<f64> {
    // Nanoseconds that the one thread in the cgroup ran, and seconds since boot.
    let measure = "look() { cut -d' ' -f1 /proc/$(head -1 /sys/fs/cgroup/lab/x/cgroup.procs)/schedstat \
        /proc/uptime; }; look; sleep 10; look";
    let [ran, at, ran_then, then] = bench.numbers(measure)?;
    Ok(1.0 - (ran_then - ran) / 1e9 / (then - at))
}

pub(super) fn exclusive_pool(bench: &mut Bench) -> Result<()> {
    // Shares of the CPU's time. Without the pool, the owner shares the CPUs with five others.
    const MOST: f64 = 0.01;
    const FAIR: f64 = 0.1;
    bench.write_policy("[[rule]]\ncgroup = \"lab/**\"\npool = \"1\"\nexclusive = true")?;
    let busy = "for n in 1 2 3 4 5; do (while :; do :; done) & done; mkdir -p /sys/fs/cgroup/lab/x; \
        (echo 0 > /sys/fs/cgroup/lab/x/cgroup.procs; exec taskset 2 sh -c 'while :; do :; done') & \
        wait";
    bench.guest.link.spawn("busy", &["sh", "-c", busy])?;
    bench
        .script("until grep -q . /sys/fs/cgroup/lab/x/cgroup.procs; do sleep 0.2; done; sleep 2")?;
    let alone = foreign_share(bench)?;
    bench.write_policy("")?;
    status::until(bench, "no rules", |policy| policy.rules == 0 && policy.cgroups == 0)?;
    let given_back = foreign_share(bench)?;
    bench.guest.link.signal("busy", libc::SIGKILL)?;
    bench.guest.link.wait("busy", PATIENCE)?;
    bench.script("rmdir /sys/fs/cgroup/lab/x /sys/fs/cgroup/lab")?;
    bench.figures =
        format!(": others had {alone:.4} of its CPU, {given_back:.2} once it was given back");
    ensure!(alone <= MOST, "others had {alone:.3} of the exclusive CPU's time");
    ensure!(given_back >= FAIR, "others have only {given_back:.3} of the CPU that was given back");
    Ok(())
}

pub(super) fn locked_in(bench: &mut Bench) -> Result<()> {
    // Three threads for each CPU, so that some wait, on CPUs that are still shared.
    let busy = "mkdir -p /sys/fs/cgroup/lab/x; for n in 1 2 3 4 5 6; do \
        taskset c sh -c 'while :; do :; done' & done; jobs -p > /tmp/locked-in; wait";
    bench.guest.link.spawn("busy", &["sh", "-c", busy])?;
    bench.script("until grep -q . /tmp/locked-in; do sleep 0.2; done; sleep 2")?;
    bench.write_policy("[[rule]]\ncgroup = \"lab/**\"\npool = \"2-3\"\nexclusive = true")?;
    status::until(bench, "one rule", |policy| policy.rules == 1)?;
    let starved = bench.script(
        "ran() { for p in $(cat /tmp/locked-in); do cut -d' ' -f1 /proc/$p/schedstat; done; }; \
         sleep 1; ran > /tmp/before; sleep 8; ran > /tmp/after; \
         paste /tmp/before /tmp/after | awk '$1 == $2' | wc -l; rm /tmp/locked-in",
    )?;
    bench.guest.link.signal("busy", libc::SIGKILL)?;
    bench.guest.link.wait("busy", PATIENCE)?;
    bench.script("rmdir /sys/fs/cgroup/lab/x /sys/fs/cgroup/lab")?;
    ensure!(starved.trim() == "0", "of six threads, {} did not run in 8 s", starved.trim());
    bench.in_force()
}

/// Two servers with the same work. A policy declares the first.
const TWINS: [Server; 2] = [Server("declared", 5411), Server("plain", 5412)];

pub(super) fn declared_class(bench: &mut Bench) -> Result<()> {
    bench.write_policy("[[rule]]\ncgroup = \"lab/declared\"\nclass = \"long\"")?;
    for twin in &TWINS {
        twin.start(bench, "")?;
    }
    let shares = share_near_the_nic(bench, TWINS.each_ref(), explained);
    for twin in &TWINS {
        twin.stop(bench)?;
    }
    bench.script("rmdir /sys/fs/cgroup/lab")?;
    let [declared, plain] = shares?;
    let figures =
        format!("{declared:.2} of its CPU time on NIC-local CPUs, {plain:.2} of the twin's");
    // The twin may use what the other does not claim: three of four CPUs, if that has one core.
    ensure!(declared >= 0.9 && plain <= 0.7, "{figures}");
    bench.figures = format!(": {figures}");
    Ok(())
}

/// The part of `scx_steer policy explain --json` that the check looks at.
#[derive(Deserialize)]
struct Explained {
    threads: Vec<ExplainedThread>,
}

#[derive(Deserialize)]
struct ExplainedThread {
    target_cpu: Option<usize>,
    last_bursts: Vec<IgnoredAny>,
}

/// Checks that under traffic, `policy explain` shows what the declared server's threads moved, and
/// that they were sent to NIC-local CPUs.
fn explained(bench: &mut Bench) -> Result<()> {
    let explain = format!(
        "sleep 6; scx_steer policy explain --policy {FILE} --json \
         $(head -1 /sys/fs/cgroup/lab/declared/cgroup.procs)"
    );
    let said = bench.script(&explain)?;
    let explained: Explained = serde_json::from_str(&said).context("reading what explain says")?;
    let local = bench.facts.local_cpus();
    let busy = explained.threads.iter().filter(|thread| {
        !thread.last_bursts.is_empty() && thread.target_cpu.is_some_and(|cpu| local.contains(&cpu))
    });
    ensure!(busy.count() == 2, "not both RPC threads were sent near the NIC: {said}");
    // Packets follow threads in this steering mode. If no thread had to move, that is unknown yet.
    let nic = status::status(bench)?.nics.into_iter().next().context("the status has no NIC")?;
    ensure!(nic.steering != Steering::Fixed, "the NIC's steering is taken for fixed");
    Ok(())
}

pub(super) fn flips_under_traffic(bench: &mut Bench) -> Result<()> {
    // scx_steer looks for changes every 50 ms. Emulation makes this slower.
    let flips = format!(
        "mkdir -p /sys/fs/cgroup/lab; for p in $(pidof steer-bench); do \
         grep -qzx server /proc/$p/cmdline && echo $p > /sys/fs/cgroup/lab/cgroup.procs; done; \
         i=0; while [ $i -lt {FLIPS} ]; do \
         for rule in 'class = \"long\"' 'pool = \"1\"' 'class = \"short\"' 'pool = \"2-3\"'; do \
         printf '[[rule]]\\ncgroup = \"lab\"\\n%s\\n' \"$rule\" > {FILE}.new; \
         mv {FILE}.new {FILE}; kill -HUP $(pidof scx_steer); sleep 0.2; i=$((i+1)); done; done"
    );
    let before = status::status(bench)?.policy.reloads;
    bench.guest.link.spawn("flips", &["sh", "-c", &flips])?;
    let flipped = loop {
        let traffic = bench.start_traffic()?;
        let (report, _) =
            traffic.finish(&bench.guest.net).context("the traffic did not survive")?;
        moved(&report)?;
        if let Some(flipped) = bench.guest.link.ended("flips", Duration::ZERO)? {
            break flipped;
        }
    };
    ensure!(flipped.success(), "{}", flipped.last_words());
    bench.in_force()?;
    let last = |policy: &Policy| policy.rules == 1 && policy.cgroups == 1;
    let times = status::until(bench, "one rule for one cgroup", last)?.reloads - before;
    ensure!(times >= FLIPS, "the policy was put in force {times} times, not {FLIPS}");
    Ok(())
}

pub(super) fn bad_policy(bench: &mut Bench) -> Result<()> {
    bench.write_policy("[[rule]]\ncgroup = \"lab\"\nclass = \"long\"")?;
    status::until(bench, "one rule", |policy| policy.rules == 1)?;
    bench.write_policy("[[rule]]\ncgroup = \"lab\"\nclas = \"long\"")?;
    let refused = status::until(bench, "a refused policy", |policy| policy.refused.is_some())?;
    ensure!(refused.rules == 1, "the old policy is not in force: {refused:?}");
    let why = refused.refused.unwrap_or_default();
    ensure!(why.contains("policy.toml:3:1"), "the status does not say why: {why}");
    bench.write_policy("")?;
    status::until(bench, "a valid policy", |policy| policy.refused.is_none())?;
    bench.in_force()
}
