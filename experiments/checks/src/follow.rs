//! A check of short-flow threads whose packets arrive on another node.

use anyhow::{Context, Result, ensure};

use super::bench::Bench;
use super::served::{Server, share_near_the_nic};

const SERVER: Server = Server("follows", 5411);

pub(super) fn short_flows(bench: &mut Bench) -> Result<()> {
    // Packets go to one CPU near the NIC, whatever the threads do. RPS sends them.
    let local = bench.facts.local_cpus();
    let softirq = *local.last().context("the NIC's node has no CPU")?;
    let remote = mask(&bench.facts.remote_cpus());
    let rps = |mask: &str| {
        format!("for q in /sys/class/net/eth*/queues/rx-*; do echo {mask} > $q/rps_cpus; done")
    };
    bench.script(&rps(&mask(&[softirq])))?;
    // The threads begin on the other node, and may then go where they like.
    SERVER.start(bench, &format!("taskset {remote}"))?;
    let free = mask(&bench.facts.nodes.concat());
    bench.script(&format!(
        "for p in $(cat /sys/fs/cgroup/lab/{}/cgroup.threads); do taskset -p {free} $p; done",
        SERVER.0
    ))?;
    let shares = share_near_the_nic(bench, [&SERVER], |_| Ok(()));
    SERVER.stop(bench)?;
    bench.script(&rps("0"))?;
    bench.script("rmdir /sys/fs/cgroup/lab")?;
    let [near] = shares?;
    bench.figures = format!(": {near:.2} of their CPU time on the packets' node");
    ensure!(near >= 0.8, "only {near:.2} of their CPU time was on the packets' node");
    Ok(())
}

/// CPUs as a hexadecimal mask.
fn mask(cpus: &[usize]) -> String {
    format!("{:x}", cpus.iter().fold(0_u64, |mask, cpu| mask | 1 << cpu))
}
