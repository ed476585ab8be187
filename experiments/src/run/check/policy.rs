//! Checks of policies for cgroups, under load.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{Bench, moved};
use crate::run::scheduler::JOB;

/// The policy that every check's scheduler is loaded with; empty at first.
pub(super) const FILE: &str = "/tmp/policy.toml";
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the policy is turned around.
const FLIPS: usize = 100;

/// Writes the policy file, all at once.
pub(super) fn write(bench: &mut Bench, rules: &str) -> Result<()> {
    script(bench, &format!("cat > {FILE}.new <<'END'\n{rules}\nEND\nmv {FILE}.new {FILE}"))
        .map(drop)
}

/// Runs a shell script in the guest; what it printed.
fn script(bench: &mut Bench, script: &str) -> Result<String> {
    let done = bench.guest.link.run(&["sh", "-c", script], PATIENCE)?;
    ensure!(done.success(), "{}", done.last_words());
    Ok(done.stdout)
}

/// The share of CPU 1's busy time that is not the owner's, who is pinned there, over three seconds.
fn foreign_share(bench: &mut Bench) -> Result<f64> {
    // utime and stime of the one thread in the cgroup; user to softirq of the CPU, without idle
    let measure = "busy() { awk '/^cpu1 /{print $2+$3+$4+$7+$8}' /proc/stat; }; \
        own() { awk '{print $14+$15}' /proc/$(head -1 /sys/fs/cgroup/lab/x/cgroup.procs)/stat; }; \
        a=$(busy); b=$(own); sleep 3; echo $(($(busy) - a)) $(($(own) - b))";
    let said = script(bench, measure)?;
    let mut numbers = said.split_whitespace().map(str::parse::<f64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(busy)), Some(Ok(own))) if busy > 0.0 => Ok(1.0 - own / busy),
        _ => anyhow::bail!("no figures in {said:?}"),
    }
}

pub(super) fn exclusive_pool(bench: &mut Bench) -> Result<()> {
    // Kernel threads bound to the CPU run there too, and ticks are coarse.
    const MOST: f64 = 0.05;
    write(bench, "[[rule]]\ncgroup = \"lab/**\"\npool = \"1\"\nexclusive = true")?;
    let busy = "for n in 1 2 3 4 5; do (while :; do :; done) & done; mkdir -p /sys/fs/cgroup/lab/x; \
        (echo 0 > /sys/fs/cgroup/lab/x/cgroup.procs; exec taskset 2 sh -c 'while :; do :; done') & \
        wait";
    bench.guest.link.spawn("busy", &["sh", "-c", busy])?;
    script(
        bench,
        "until grep -q . /sys/fs/cgroup/lab/x/cgroup.procs; do sleep 0.2; done; sleep 2",
    )?;
    let alone = foreign_share(bench)?;
    // That others then run there is not measured: the figures of a busy emulated guest are too
    // coarse to tell who runs a little from who does not run.
    write(bench, "")?;
    bench.guest.link.expect(JOB, "[INFO] policy: 0 rules hold for 0 cgroups", PATIENCE)?;
    bench.guest.link.signal("busy", libc::SIGKILL)?;
    bench.guest.link.wait("busy", PATIENCE)?;
    script(bench, "rmdir /sys/fs/cgroup/lab/x /sys/fs/cgroup/lab")?;
    ensure!(alone <= MOST, "others had {alone:.3} of the exclusive CPU's time");
    Ok(())
}

pub(super) fn flips_under_traffic(bench: &mut Bench) -> Result<()> {
    // A change is looked for every 50 ms; what is slower here is the emulation.
    let flips = format!(
        "mkdir -p /sys/fs/cgroup/lab; for p in $(pidof steer-bench); do \
         grep -qz server /proc/$p/cmdline && echo $p > /sys/fs/cgroup/lab/cgroup.procs; done; \
         i=0; while [ $i -lt {FLIPS} ]; do for class in long short; do \
         printf '[[rule]]\\ncgroup = \"lab\"\\nclass = \"%s\"\\n' $class > {FILE}.new; \
         mv {FILE}.new {FILE}; kill -HUP $(pidof scx_steer); sleep 0.2; i=$((i+1)); done; done"
    );
    bench.guest.link.spawn("flips", &["sh", "-c", &flips])?;
    let flipped = loop {
        let (report, _) = bench.start_traffic()?.finish().context("the traffic did not survive")?;
        moved(&report)?;
        if let Some(flipped) = bench.guest.link.ended("flips", Duration::ZERO)? {
            break flipped;
        }
    };
    ensure!(flipped.success(), "{}", flipped.last_words());
    bench.in_force()?;
    let said = bench.guest.link.so_far(JOB)?.stderr;
    let times = said.lines().filter(|line| line.contains("1 rule holds for 1 cgroup")).count();
    ensure!(times >= FLIPS, "the policy was put in force {times} times, not {FLIPS}");
    Ok(())
}

pub(super) fn bad_policy(bench: &mut Bench) -> Result<()> {
    write(bench, "[[rule]]\ncgroup = \"lab\"\nclass = \"long\"")?;
    bench.guest.link.expect(JOB, "[INFO] policy: 1 rule holds", PATIENCE)?;
    write(bench, "[[rule]]\ncgroup = \"lab\"\nclas = \"long\"")?;
    bench.guest.link.expect(JOB, "[ERROR] the new policy is refused", PATIENCE)?;
    bench.in_force()
}
