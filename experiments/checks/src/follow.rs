//! Checks of where threads with traffic run, and beside whom.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::bench::Bench;
use super::served::{Server, share_near_the_nic};
use super::status::{self, Steering};
use steer_ground::cpus::joined;

const PATIENCE: Duration = Duration::from_secs(60);

const SERVER: Server = Server("follows", 5411);

pub(super) fn short_flows(bench: &mut Bench) -> Result<()> {
    // Packets go to one CPU near the NIC, whatever the threads do. RPS sends them.
    let local = bench.facts.local_cpus();
    let softirq = *local.last().context("the NIC's node has no CPU")?;
    let rps = |mask: u64| {
        format!("for q in /sys/class/net/eth*/queues/rx-*; do echo {mask:x} > $q/rps_cpus; done")
    };
    bench.script(&rps(1 << softirq))?;
    // The threads begin on the other node, and may then go where they like.
    SERVER.start(bench, &format!("taskset -c {}", joined(&bench.facts.remote_cpus())))?;
    bench.script(&format!(
        "taskset -apc {} $(cat /sys/fs/cgroup/lab/{}/cgroup.procs)",
        joined(&bench.facts.nodes.concat()),
        SERVER.0
    ))?;
    let shares = share_near_the_nic(bench, [&SERVER], |_| Ok(()));
    SERVER.stop(bench)?;
    bench.script(&rps(0))?;
    bench.script("rmdir /sys/fs/cgroup/lab")?;
    let [near] = shares?;
    bench.figures = format!(": {near:.2} of their CPU time on the packets' node");
    ensure!(near >= 0.8, "only {near:.2} of their CPU time was on the packets' node");
    Ok(())
}

const POLLS: Server = Server("polls", 5441);

/// Long-flow threads that poll the NIC by epoll, while its interrupts are on the other node. They go
/// to CPUs near it, and fetch their packets there. That does not show how the NIC steers.
pub(super) fn polling(bench: &mut Bench) -> Result<()> {
    let far = bench.facts.remote_cpus().first().copied().context("all CPUs are near the NIC")?;
    bench.write_policy("[[rule]]\ncgroup = \"lab/polls\"\nclass = \"long\"")?;
    bench.script(&format!(
        "for irq in $(ls /sys/class/net/eth0/device/../msi_irqs); do \
         cat /proc/irq/$irq/smp_affinity_list > /tmp/irq-$irq; \
         echo {far} > /proc/irq/$irq/smp_affinity_list || :; done; \
         echo 1000 > /proc/sys/net/core/busy_poll"
    ))?;
    POLLS.start(bench, "")?;
    let shares = share_near_the_nic(bench, [&POLLS], |bench| {
        bench.script("sleep 8")?;
        let nic = status::status(bench)?.nics.into_iter().next().context("no NIC")?;
        ensure!(nic.steering != Steering::Follows, "polling was taken for packets that follow");
        Ok(())
    });
    POLLS.stop(bench)?;
    bench.script(
        "echo 0 > /proc/sys/net/core/busy_poll; \
         for irq in $(ls /sys/class/net/eth0/device/../msi_irqs); do \
         cat /tmp/irq-$irq > /proc/irq/$irq/smp_affinity_list || :; done; rmdir /sys/fs/cgroup/lab",
    )?;
    let [near] = shares?;
    bench.figures = format!(": {near:.2} of their CPU time near the NIC");
    ensure!(near >= 0.8, "only {near:.2} of their CPU time was near the NIC");
    Ok(())
}

const OWNER: Server = Server("owner", 5451);

/// Threads that count as short-flow ones, and never sleep, want more CPUs than they have. They are
/// lent the cores of long-flow threads while those sleep. These do not wait for them.
pub(super) fn lent_cores(bench: &mut Bench) -> Result<()> {
    bench.write_policy(
        "[[rule]]\ncgroup = \"lab/owner\"\nclass = \"long\"\n\
         [[rule]]\ncgroup = \"lab/busy\"\nclass = \"short\"",
    )?;
    let busy = "mkdir -p /sys/fs/cgroup/lab/busy; echo 0 > /sys/fs/cgroup/lab/busy/cgroup.procs; \
        for n in 1 2 3 4 5 6; do (while :; do :; done) & done; wait";
    bench.guest.link.spawn("busy", &["sh", "-c", busy])?;
    OWNER.start(bench, "")?;
    let served = share_near_the_nic(bench, [&OWNER], lent_and_given_back);
    OWNER.stop(bench)?;
    bench.guest.link.signal("busy", libc::SIGKILL)?;
    bench.guest.link.wait("busy", PATIENCE)?;
    bench.script("rmdir /sys/fs/cgroup/lab/busy /sys/fs/cgroup/lab").and(served.map(drop))
}

/// Over some seconds: how many CPUs the busy threads have, and how long the owner's threads wait for
/// one each time that they run.
fn lent_and_given_back(bench: &mut Bench) -> Result<()> {
    // Two CPUs are not claimed. If the other two were lent only after 50 ms: 2.2.
    const LEAST_CPUS: f64 = 2.6;
    // At a tick, when a lent core changes hands anyway, they would wait some milliseconds.
    const MOST_MS: f64 = 0.5;
    // seconds since boot, microseconds that the busy threads ran, nanoseconds that the owner's
    // waited, and how often these ran
    let [at, _, ran, waited, runs, then, _, ran_then, waited_then, runs_then] = bench.numbers(
        "look() { cat /proc/uptime; grep usage_usec /sys/fs/cgroup/lab/busy/cpu.stat; \
         for p in $(cat /sys/fs/cgroup/lab/owner/cgroup.procs); do cat /proc/$p/task/*/schedstat; \
         done | awk '{w += $2; n += $3} END {print w, n}'; }; look; sleep 6; look",
    )?;
    let cpus = (ran_then - ran) / 1e6 / (then - at);
    let mean_ms = (waited_then - waited) / (runs_then - runs) / 1e6;
    bench.figures = format!(": others have {cpus:.2} CPUs, and it waits {mean_ms:.2} ms each time");
    ensure!(cpus >= LEAST_CPUS, "others have only {cpus:.2} CPUs");
    ensure!(mean_ms <= MOST_MS, "it waits {mean_ms:.2} ms each time");
    Ok(())
}
