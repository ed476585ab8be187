//! Contracts of a shared host that must never break: shares and limits of cgroups, and real-time
//! threads. `steer-bench lab contracts` compares many more with the kernel's own scheduler.

use anyhow::{Result, ensure};

use super::bench::Bench;

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
