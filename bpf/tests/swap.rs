//! A swap of policies is all or nothing: each step of it is made to fail in turn, on policies loaded
//! into this kernel for real. Without root the tests say that they are skipped.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::mem::MaybeUninit;

use anyhow::bail;
use steer_bpf::{
    KernelPlan, ObjectSlot, Origins, Policies, PolicyObject, Seen, Step,
    intf::{cpu_plan, cpu_pools, process_policy, thread_policy, traffic_class_NR_CLASSES},
};

mod common;

/// Two CPUs under two caches.
fn plan() -> KernelPlan {
    let cpu =
        |cpu| cpu_plan { nics_local: 0, llc: cpu, shard: cpu, core: cpu, node: 0, online: true };
    KernelPlan { cpus: vec![cpu(0), cpu(1)], nr_shards: 2, origins: Origins::default() }
}

/// A policy that is told from others by `long_burst_bytes`.
fn policy(long_burst_bytes: u64, pool: u8) -> thread_policy {
    let mut classes = common::settings();
    classes.long_burst_bytes = long_burst_bytes;
    thread_policy {
        classes,
        declared: traffic_class_NR_CLASSES as u8,
        granularity: 0,
        pool,
        near_nic: false,
        owns_pool: false,
        fair_only: false,
        urgent: false,
        nr_processes: 0,
        processes: [process_policy { name: [0; 15], len: 0, policy: 0 }; 8],
    }
}

fn load(slot: &mut ObjectSlot) -> PolicyObject<'_> {
    PolicyObject::load(slot, &plan(), &policy(1, 0)).unwrap()
}

/// The cgroup of this thread is in a pool of its own: `cpu`, exclusively, if `alone`.
fn policies(cgroup: u64, long_burst_bytes: u64, cpu: usize, alone: bool) -> Policies {
    let mut cpus = vec![cpu_pools { pools: 0, exclusive: false }; 2];
    // pool 2: pool 1 is one that no policy names
    cpus[cpu] = cpu_pools { pools: 0b10, exclusive: alone };
    Policies {
        policies: vec![policy(2, 0), policy(long_burst_bytes, 2)],
        cgroups: vec![(cgroup, 1)],
        cpus,
        nr_pools: 2,
    }
}

/// What a thread then sees.
fn expected(long_burst_bytes: u64, cpu: usize, alone: bool) -> Seen {
    let bit = 1 << cpu;
    Seen {
        long_burst_bytes,
        pool: 2,
        nr_pools: 2,
        pool_clock: cpu as u32,
        in_pool: bit,
        in_pool_mask: bit,
        exclusive: if alone { bit } else { 0 },
        in_shared_mask: if alone { 0b11 & !bit } else { 0b11 },
    }
}

/// Whether this machine has the two CPUs: the kernel's masks have no others.
fn has_two_cpus(test: &str) -> bool {
    let cpus = std::thread::available_parallelism().unwrap().get();
    if cpus < 2 {
        eprintln!("SKIPPED {test}: needs two CPUs");
    }
    cpus >= 2
}

#[test]
fn a_swap_that_fails_at_any_step_changes_nothing() {
    const TEST: &str = "a_swap_that_fails_at_any_step_changes_nothing";
    if !common::is_root(TEST) || !has_two_cpus(TEST) {
        return;
    }
    let mut slot = MaybeUninit::uninit();
    let mut object = load(&mut slot);
    let (cgroup, mut before) = object.look().unwrap();
    assert_eq!(before, Seen { long_burst_bytes: 1, ..Seen::default() }, "the default policy");

    // each round begins in the other half, and ends with another CPU in the pool
    for round in 0..4 {
        let (bytes, cpu, alone) = (100 + round, round as usize % 2, round % 4 < 2);
        let new = policies(cgroup, bytes, cpu, alone);
        for last in Step::ALL {
            let mut steps = Vec::new();
            let failed = object.set_policies(&new, |step| {
                steps.push(step);
                if step == last { bail!("after {step:?}") } else { Ok(()) }
            });
            assert_eq!(failed.unwrap_err().to_string(), format!("after {last:?}"));
            assert!(Step::ALL.starts_with(&steps), "in order: {steps:?}");
            assert_eq!(object.look().unwrap(), (cgroup, before.clone()), "{last:?}");
        }
        object.set_policies(&new, |_| Ok(())).unwrap();
        before = expected(bytes, cpu, alone);
        assert_eq!(object.look().unwrap().1, before, "the next swap works");
    }
}

#[test]
fn more_than_fits_is_refused_and_changes_nothing() {
    const TEST: &str = "more_than_fits_is_refused_and_changes_nothing";
    if !common::is_root(TEST) || !has_two_cpus(TEST) {
        return;
    }
    let mut slot = MaybeUninit::uninit();
    let mut object = load(&mut slot);
    let (cgroup, _) = object.look().unwrap();
    object.set_policies(&policies(cgroup, 100, 0, true), |_| Ok(())).unwrap();
    let before = object.look().unwrap();

    let fits = policies(cgroup, 200, 1, true);
    let mut too_large = vec![fits.clone(); 4];
    too_large[0].policies = vec![policy(3, 0); 1025];
    too_large[1].cgroups = (0..=65_536).map(|id| (id, 1)).collect();
    too_large[2].cpus = vec![cpu_pools { pools: 0, exclusive: true }; 1025];
    too_large[3].nr_pools = 65;
    for new in too_large {
        object.set_policies(&new, |_| Ok(())).unwrap_err();
        assert_eq!(object.look().unwrap(), before);
    }
    object.set_policies(&fits, |_| Ok(())).unwrap();
    assert_eq!(object.look().unwrap().1, expected(200, 1, true));
}

#[test]
fn cpus_that_are_not_named_are_in_no_pool() {
    const TEST: &str = "cpus_that_are_not_named_are_in_no_pool";
    if !common::is_root(TEST) || !has_two_cpus(TEST) {
        return;
    }
    let mut slot = MaybeUninit::uninit();
    let mut object = load(&mut slot);
    let (cgroup, _) = object.look().unwrap();
    object.set_policies(&policies(cgroup, 100, 1, true), |_| Ok(())).unwrap();
    let mut fewer = policies(cgroup, 200, 0, false);
    fewer.cpus.truncate(1);
    object.set_policies(&fewer, |_| Ok(())).unwrap();
    assert_eq!(object.look().unwrap().1, expected(200, 0, false));
}
