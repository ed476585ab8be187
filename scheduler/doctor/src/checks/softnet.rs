//! Packets that softirq could not handle in time.

use crate::case::{Case, Unchecked};
use crate::host::Host;
use crate::row::{Area, Row, Severity};

const FILE: &str = "proc/net/softnet_stat";
const BACKLOG: &str = "proc/sys/net/core/netdev_max_backlog";
const BUDGET: &str = "proc/sys/net/core/netdev_budget";
const BUDGET_US: &str = "proc/sys/net/core/netdev_budget_usecs";
/// A tenth of all packets, counted with a full budget for each round that ended early.
const MANY: u64 = 10;
/// Fewer packets since boot say nothing.
const ENOUGH: u64 = 100_000;

pub(crate) const DROPS: Row = Row {
    id: "backlog-drops",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Packets were dropped because a CPU's backlog was full.",
    looks: "The second column of /proc/net/softnet_stat, summed over the CPUs, since boot.",
    why: "Packets that RPS, RFS, loopback or veth hand to a CPU wait in its backlog. The CPU did not \
          keep up. A longer backlog helps against bursts; against load, spread the queues or move the \
          threads.",
    source: "Documentation/admin-guide/sysctl/net.rst, netdev_max_backlog",
    fix: "sudo sysctl net.core.netdev_max_backlog={more}",
    undo: "sudo sysctl net.core.netdev_max_backlog={now}",
    check: |host| {
        let counts = counts(host)?;
        let dropped = counts.dropped;
        let now: u64 = host.root.value(BACKLOG)?.unwrap_or(1000);
        let case = || {
            Case::host()
                .saw(FILE, format!("{dropped} dropped of {} packets", counts.processed))
                .saw(BACKLOG, now)
                .with("more", now * 4)
                .with("now", now)
        };
        Ok((dropped > 0).then(case).into_iter().collect())
    },
};

pub(crate) const SQUEEZED: Row = Row {
    id: "time-squeeze",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Softirq often ran out of its budget while packets waited.",
    looks: "The third column of /proc/net/softnet_stat, since boot: rounds that ended early. A finding \
            if these rounds, with netdev_budget packets each, make a tenth of all packets, and there were \
            100,000.",
    why: "The remaining packets wait for the next round, often in ksoftirqd, behind other threads. A \
          CPU that is squeezed serves too many flows: spread the queues first, then try a larger \
          budget.",
    source: "Documentation/admin-guide/sysctl/net.rst, netdev_budget; host-network-stack paper, \
             section 2.1",
    fix: "sudo sysctl net.core.netdev_budget={more} net.core.netdev_budget_usecs={more_us}",
    undo: "sudo sysctl net.core.netdev_budget={now} net.core.netdev_budget_usecs={now_us}",
    check: |host| {
        let Counts { processed, squeezed, .. } = counts(host)?;
        let now: u64 = host.root.value(BUDGET)?.unwrap_or(300);
        let now_us: u64 = host.root.value(BUDGET_US)?.unwrap_or(2000);
        let case = || {
            Case::host()
                .saw(FILE, format!("{squeezed} squeezed, {processed} packets"))
                .saw(BUDGET, now)
                .with("more", now * 2)
                .with("more_us", now_us * 2)
                .with("now", now)
                .with("now_us", now_us)
        };
        let found = processed >= ENOUGH && squeezed * now * MANY >= processed;
        Ok(found.then(case).into_iter().collect())
    },
};

#[derive(Default)]
struct Counts {
    processed: u64,
    dropped: u64,
    squeezed: u64,
}

/// The sums over all CPUs. The columns are hexadecimal (softnet_seq_show, net/core/net-procfs.c).
fn counts(host: &Host) -> Result<Counts, Unchecked> {
    let absent = || Unchecked(format!("/{FILE} is absent"));
    let text = host.root.text(FILE)?.ok_or_else(absent)?;
    let mut counts = Counts::default();
    for line in text.lines() {
        let columns = line.split_whitespace().take(3);
        let numbers: Result<Vec<u64>, _> = columns.map(|c| u64::from_str_radix(c, 16)).collect();
        let Ok([processed, dropped, squeezed]) = numbers.as_deref() else {
            return Err(Unchecked(format!("/{FILE} contains \"{line}\", which is not understood")));
        };
        counts.processed += processed;
        counts.dropped += dropped;
        counts.squeezed += squeezed;
    }
    Ok(counts)
}
