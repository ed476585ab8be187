//! Translates the policy's types to those of the BPF objects, and checks the bounds.

use std::time::Duration;

use anyhow::{Result, ensure};
use steer_bpf::{
    Policies,
    intf::{
        class_settings, cpu_plan, cpu_pools, granularity_PER_CGROUP, granularity_PER_PROCESS,
        granularity_PER_THREAD, limits_MAX_CPUS, limits_MAX_INTERFACES, limits_MAX_LLCS,
        limits_MAX_NAPIS, limits_MAX_NICS, limits_MAX_PEER_PREFIXES, limits_MAX_SHARDS,
        place_settings, process_policy, thread_policy, traffic_class_CLASS_LONG,
        traffic_class_CLASS_NONE, traffic_class_CLASS_SHORT, traffic_class_NR_CLASSES,
    },
};
use steer_policy::{
    CgroupPolicy, Class, Classification, CpuPool, Effective, Granularity, Latency, Origins,
    Placement, Plan, Pools, ProcessPattern, ProcessPolicy, Steer, Time,
};
use steer_topology::NetworkDevices;

fn ns(duration: Duration) -> u64 {
    Time::from(duration).ns()
}

/// Classification settings. They are already validated.
pub(crate) fn classes(c: &Classification) -> class_settings {
    class_settings {
        long_burst_bytes: c.long_burst_bytes,
        short_burst_bytes: c.short_burst_bytes,
        idle_gap_ns: ns(c.idle_gap),
        half_life_ns: ns(c.half_life),
        cost_ns_per_kib: c.cost_ns_per_kib,
        cost_ns_per_message: c.cost_ns_per_message,
        floor_ns: ns(c.floor),
        short_bursts_to_leave_long: c.short_bursts_to_leave_long,
    }
}

/// The policy of threads that no rule applies to.
pub(crate) fn default_policy(c: &Classification) -> thread_policy {
    thread_policy {
        classes: classes(c),
        declared: traffic_class_NR_CLASSES as u8,
        granularity: granularity_PER_THREAD as u8,
        pool: 0,
        near_nic: false,
        owns_pool: false,
        fair_only: false,
        urgent: false,
        nr_processes: 0,
        processes: [process_policy { name: [0; 15], len: 0, policy: 0 }; _],
    }
}

/// Policies and pools as tables for the BPF side.
pub(crate) fn policies(effective: &Effective, pools: &Pools, plan: &Plan) -> steer_bpf::Policies {
    let nr_cpus = plan.cpus.keys().max().map_or(0, |last| last + 1);
    let of_cpu = |cpu| {
        let mine = || pools.pools.iter().zip(0..).filter(move |(pool, _)| pool.cpus.contains(cpu));
        cpu_pools {
            pools: mine().fold(0, |bits, (_, index)| bits | 1u64 << index),
            exclusive: mine().any(|(pool, _)| pool.exclusive),
        }
    };
    let policies = effective.policies().iter().zip(&pools.of_policy);
    Policies {
        policies: policies
            .map(|(policy, index)| one_policy(policy, index.map(|i| (i, &pools.pools[i]))))
            .collect(),
        cgroups: effective.cgroups().iter().map(|(id, policy)| (*id, *policy)).collect(),
        cpus: (0..nr_cpus).map(of_cpu).collect(),
        nr_pools: pools.pools.len() as u32,
    }
}

fn one_policy(policy: &CgroupPolicy, pool: Option<(usize, &CpuPool)>) -> thread_policy {
    let sets = &policy.sets;
    let mut to = default_policy(&policy.classification);
    to.declared = match sets.class.unwrap_or_default() {
        Class::Auto => traffic_class_NR_CLASSES,
        Class::Long => traffic_class_CLASS_LONG,
        Class::Short => traffic_class_CLASS_SHORT,
        Class::None => traffic_class_CLASS_NONE,
    } as u8;
    to.granularity = match sets.granularity.unwrap_or_default() {
        Granularity::Thread => granularity_PER_THREAD,
        Granularity::Process => granularity_PER_PROCESS,
        Granularity::Cgroup => granularity_PER_CGROUP,
    } as u8;
    if let Some((index, pool)) = pool {
        to.pool = index as u8 + 1;
        to.near_nic = pool.near_nic;
        to.owns_pool = pool.kept;
    }
    to.fair_only = sets.steer == Some(Steer::Off);
    to.urgent = sets.latency == Some(Latency::Low);
    for (to, from) in to.processes.iter_mut().zip(&policy.processes) {
        *to = one_process(from);
    }
    to.nr_processes = policy.processes.len() as u8;
    to
}

/// A whole name includes the zero byte after it, if there is room. A prefix does not.
fn one_process(from: &ProcessPolicy) -> process_policy {
    let mut to = process_policy { name: [0; 15], len: 0, policy: from.policy };
    let (name, ends) = match &from.pattern {
        ProcessPattern::Prefix(name) => (name, 0),
        ProcessPattern::Exact(name) => (name, 1),
    };
    for (to, from) in to.name.iter_mut().zip(name.bytes()) {
        *to = from as _;
    }
    to.len = (name.len() + ends).min(to.name.len()) as u8;
    to
}

/// Placement settings. They are already validated.
pub(crate) fn places(p: &Placement) -> place_settings {
    place_settings { slice_ns: ns(p.slice), claim_ns: ns(p.claim), lend_after_ns: ns(p.lend_after) }
}

/// The plan as tables, together with the ways to recognise its NICs in packets.
///
/// # Errors
/// The machine is larger than the tables of the BPF objects.
pub(crate) fn plan(plan: &Plan, devices: &NetworkDevices) -> Result<steer_bpf::KernelPlan> {
    let nr_cpus = plan.cpus.keys().max().map_or(0, |last| last + 1);
    within_limits(&[
        ("CPU numbers", nr_cpus, limits_MAX_CPUS, RAISE),
        ("last-level caches", plan.nr_llcs, limits_MAX_LLCS, RAISE),
        ("queues", plan.nr_shards, limits_MAX_SHARDS, "let more CPUs share one (--queue-cpus)"),
        // one bit each, so this limit cannot be raised
        (
            "NICs",
            plan.nics.len() as u32,
            limits_MAX_NICS,
            "move spare ones to another network namespace",
        ),
    ])?;
    let absent = cpu_plan { nics_local: 0, llc: 0, shard: 0, core: 0, node: 0, online: false };
    let mut cpus = vec![absent; nr_cpus as usize];
    for (cpu, place) in &plan.cpus {
        cpus[*cpu as usize] = cpu_plan {
            nics_local: place.nics_local.iter().fold(0, |bits, nic| bits | 1 << nic),
            llc: place.llc,
            shard: place.shard,
            core: place.core,
            node: place.node.unwrap_or(u32::MAX),
            online: true,
        };
    }
    Ok(steer_bpf::KernelPlan { cpus, nr_shards: plan.nr_shards, origins: origins(plan, devices)? })
}

/// The ways to recognise a packet's NIC, as tables.
///
/// # Errors
/// There are more entries than the tables of the BPF objects hold.
pub(crate) fn origins(plan: &Plan, devices: &NetworkDevices) -> Result<steer_bpf::Origins> {
    let Origins { interfaces, napis, peers } = Origins::new(plan, devices);
    within_limits(&[
        ("interfaces", interfaces.len() as u32, limits_MAX_INTERFACES, RAISE),
        ("NAPI contexts", napis.len() as u32, limits_MAX_NAPIS, RAISE),
        ("routes", peers.len() as u32, limits_MAX_PEER_PREFIXES, RAISE),
    ])?;
    Ok(steer_bpf::Origins {
        namespace: devices.namespace.unwrap_or(0),
        smallest_napi: devices.smallest_napi,
        interfaces,
        napis,
        peers,
    })
}

const RAISE: &str = "raise the limit (enum limits in bpf/src/bpf/intf.h) and rebuild";

/// Each entry: what is counted, how many there are, the limit, and what helps beyond it.
fn within_limits(counts: &[(&str, u32, u32, &str)]) -> Result<()> {
    for (what, count, limit, advice) in counts {
        ensure!(
            count <= limit,
            "this machine has {count} {what}; this build of scx_steer supports {limit}: {advice}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
