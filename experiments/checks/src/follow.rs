//! Checks of threads whose packets arrive on another node.

use anyhow::{Context, Result, ensure};

use super::bench::Bench;
use super::served::{Server, share_near_the_nic};
use super::status::{self, Steering};
use steer_ground::cpus::joined;

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
