//! From the policy's types to those of the BPF objects, within their bounds.

use std::time::Duration;

use anyhow::{Result, ensure};
use steer_bpf::intf::{
    class_settings, cpu_plan, granularity_PER_THREAD, limits_MAX_CPUS, limits_MAX_LLCS,
    limits_MAX_NICS, place_settings, process_policy, thread_policy, traffic_class_NR_CLASSES,
};
use steer_policy::{Classification, Placement, Plan};

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Settings of classification, already validated.
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

/// What holds where no policy says otherwise.
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

/// Settings of placement, already validated.
pub(crate) fn places(p: &Placement) -> place_settings {
    place_settings { slice_ns: ns(p.slice), claim_ns: ns(p.claim), lend_after_ns: ns(p.lend_after) }
}

/// The plan as tables.
///
/// # Errors
/// The machine is larger than the tables of the BPF objects.
pub(crate) fn plan(plan: &Plan) -> Result<steer_bpf::Plan> {
    let nr_cpus = plan.cpus.keys().max().map_or(0, |last| last + 1);
    for (what, count, limit) in [
        ("CPU numbers", nr_cpus, limits_MAX_CPUS),
        ("last-level caches", plan.nr_llcs, limits_MAX_LLCS),
        ("NICs", plan.nics.len() as u32, limits_MAX_NICS),
    ] {
        ensure!(
            count <= limit,
            "this machine has {count} {what}; this build of scx_steer is made for {limit} \
             (enum limits in bpf/src/bpf/intf.h): raise the limit and rebuild"
        );
    }
    let mut cpus = vec![cpu_plan { nics_local: 0, llc: 0, core: 0, node: 0 }; nr_cpus as usize];
    for (cpu, place) in &plan.cpus {
        cpus[*cpu as usize] = cpu_plan {
            nics_local: place.nics_local.iter().fold(0, |bits, nic| bits | 1 << nic),
            llc: place.llc,
            core: place.core,
            node: place.node.unwrap_or(u32::MAX),
        };
    }
    Ok(steer_bpf::Plan {
        cpus,
        nr_llcs: plan.nr_llcs,
        nics: plan.nics.iter().zip(0..).map(|(nic, index)| (nic.ifindex, index)).collect(),
    })
}
