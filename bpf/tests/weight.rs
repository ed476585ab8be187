//! Properties of weights and quotas of cgroups (weight.h, quota.h), run natively from the headers
//! that are compiled for BPF.

use proptest::prelude::*;
use steer_bpf::intf::{
    group_share, native_nice_weight, native_quota_chunk, native_quota_granted,
    native_quota_refilled, native_vtime_of, native_weight_average, native_weight_in,
};

/// Effective weights are in units of 2^-20.
const ONE: u64 = 1 << 20;

fn nice(nice: i32) -> u32 {
    // SAFETY: no pointer is passed.
    unsafe { native_nice_weight((120 + nice).cast_unsigned()) }
}

fn inside(top: u64, inside: u64, weight: u32) -> u64 {
    let share = group_share { top, inside };
    // SAFETY: the share lives for the call.
    unsafe { native_weight_in(&share, weight) }
}

fn vtime(ran: u64, weight: u64) -> u64 {
    // SAFETY: no pointer is passed.
    unsafe { native_vtime_of(ran, weight) }
}

#[test]
fn weights_are_the_kernels() {
    assert_eq!([nice(-20), nice(-10), nice(0), nice(10), nice(19)], [88761, 9548, 1024, 110, 15]);
    assert_eq!(nice(1000), 1024, "an unknown priority counts as nice 0");
}

#[test]
fn time_passes_by_weight() {
    assert_eq!(vtime(5_000_000, 1024 * ONE), 5_000_000, "nice 0");
    assert_eq!(vtime(5_000_000, 3072 * ONE), 5_000_000 / 3);
}

/// The example of weight.h.
#[test]
fn four_threads_of_a_cgroup_share_its_weight() {
    assert_eq!(inside(1024 * ONE, 4 * 1024, 1024), 256 * ONE);
    assert_eq!(inside(3072 * ONE, 1024, 1024), 3072 * ONE);
}

proptest! {
    #[test]
    fn the_root_cgroup_passes_weights_on(weight in 1u32..=88761, average: u32) {
        prop_assert_eq!(inside(0, average.into(), weight), u64::from(weight) * ONE);
    }

    /// However few of its threads ran lately, a thread does not get more than its cgroup has.
    #[test]
    fn nothing_inside_has_more_than_the_cgroup(
        top in 1u64..=102_400 * ONE, sum in 0u64..1 << 40, weight in 1u32..=88761,
    ) {
        let got = inside(top, sum, weight);
        prop_assert!((1..=top).contains(&got), "{} of {}", got, top);
    }

    /// Three levels deep, threads of the same nice value have equal parts.
    #[test]
    fn what_is_inside_shares_by_weight(
        group in 1024u64..=102_400, light in 15u32..=88761, heavy in 15u32..=88761,
    ) {
        let sum = u64::from(light) + u64::from(heavy);
        let [a, b] = [light, heavy].map(|weight| inside(group * ONE, sum, weight));
        let off = (a * u64::from(heavy)).abs_diff(b * u64::from(light));
        prop_assert!(off <= u64::from(light.max(heavy)), "off by {}", off);
        prop_assert!(a + b <= group * ONE && a + b + 2 >= group * ONE);
    }

    #[test]
    fn virtual_time_does_not_overflow(ran: u64, weight: u64) {
        let slow = vtime(ran, weight);
        prop_assert!(vtime(ran, weight.saturating_add(1)) <= slow || weight == 0);
        prop_assert!(vtime(ran / 2, weight) <= slow);
    }

    #[test]
    fn an_average_arrives(from in 0u64..1 << 40, to in 0u64..1 << 27) {
        let mut average = from;
        for _ in 0..120 {
            // SAFETY: no pointer is passed.
            average = unsafe { native_weight_average(average, to) };
        }
        prop_assert_eq!(average, to << 10);
    }

    /// Whatever CPUs use beyond their chunks, the pool pays: in the long run no more than the quota
    /// is used.
    #[test]
    fn what_is_used_too_much_is_repaid(
        quota in 1_000_000u64..400_000_000, burst in 0u64..400_000_000,
        runs in prop::collection::vec(0i64..20_000_000, 1..200),
    ) {
        // SAFETY: no pointer is passed.
        let chunk = unsafe { native_quota_chunk(quota) }.cast_signed();
        let (mut pool, mut budget, mut used) = (quota.cast_signed(), 0, 0);
        for run in &runs {
            // SAFETY: no pointer is passed.
            pool = unsafe { native_quota_refilled(pool, quota, burst, 1) };
            if pool > 0 || budget > 0 {
                used += run;
                budget -= run;
                if budget <= 0 {
                    // as draw() in limit.bpf.h
                    let left = pool + budget;
                    // SAFETY: no pointer is passed.
                    budget = unsafe { native_quota_granted(left, chunk) };
                    pool = left - budget;
                }
            }
        }
        let allowed = quota.cast_signed() * (runs.len().cast_signed() as i64 + 1);
        prop_assert!(used <= allowed + 20_000_000 + chunk + burst.cast_signed());
    }

    #[test]
    fn unused_time_is_kept_up_to_the_burst(
        pool in -1_000_000_000i64..1_000_000_000, quota in 1u64..1 << 35, burst in 0u64..1 << 35,
        periods: u64,
    ) {
        // SAFETY: no pointer is passed.
        let filled = unsafe { native_quota_refilled(pool, quota, burst, periods) };
        prop_assert!(filled <= (quota + burst).cast_signed());
        prop_assert!(filled >= pool.min((quota + burst).cast_signed()));
    }
}
