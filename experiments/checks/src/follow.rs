//! A check of short-flow threads whose packets arrive on another node.

use anyhow::{Context, Result, ensure};

use super::bench::Bench;
use super::served::{Server, share_near_the_nic};
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
