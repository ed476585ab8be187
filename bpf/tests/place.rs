//! Properties of the placement arithmetic (distance.h, spill.h, load.h, heads.h, reserve.h,
//! crowd.h), run natively from the headers that are compiled for BPF.

use proptest::prelude::*;
use steer_bpf::intf::*;

mod common;
use common::{UNKNOWN_STEERING, steering_vote};

const FULL: u32 = 1024;

fn update(load: u32, busy_ns: u64, window_ns: u64) -> u32 {
    // SAFETY: no pointer is passed.
    unsafe { native_load_update(load, busy_ns, window_ns) }
}

fn place(llc: u32, core: u32, node: u32) -> cpu_plan {
    cpu_plan { nics_local: 0, llc, shard: llc, core, node, online: true }
}

/// With `threads` on the core of `to`, at full load.
fn spill_cost(from: &cpu_plan, to: &cpu_plan, threads: u32) -> u64 {
    // SAFETY: both point to live structs.
    unsafe { native_spill_cost(from, to, native_spread_cost(threads, threads, FULL)) }
}

fn distance(a: &cpu_plan, b: &cpu_plan) -> cpu_distance {
    // SAFETY: both point to live structs.
    unsafe { native_cpu_distance(a, b) }
}

#[test]
fn nearer_is_a_shared_cache_then_a_sibling_then_the_node() {
    let home = place(0, 0, 0);
    let order = [
        distance(&home, &home),
        distance(&home, &place(0, 2, 0)),
        distance(&home, &place(0, 0, 0)),
        distance(&home, &place(1, 4, 0)),
        distance(&home, &place(2, 8, 1)),
    ];
    assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
}

#[test]
fn no_number_of_threads_outweighs_the_distance() {
    let home = place(0, 0, 0);
    let (beside, sibling, node) = (place(0, 2, 0), place(0, 0, 0), place(1, 4, 0));
    let crowd = u32::from(u16::MAX); // as many as a core counts
    assert!(spill_cost(&home, &beside, crowd) < spill_cost(&home, &sibling, 0));
    assert!(spill_cost(&home, &sibling, crowd) < spill_cost(&home, &node, 0));
    assert!(spill_cost(&home, &beside, 1) < spill_cost(&home, &beside, 2));
}

#[test]
fn long_flows_spread_over_cores_then_caches() {
    // SAFETY: no pointer is passed.
    let cost = |core, llc, load| unsafe { native_spread_cost(core, llc, load) };
    let crowd = u32::from(u16::MAX);
    assert!(cost(0, crowd, FULL) < cost(1, 0, 0), "a free core in a full cache is a free core");
    assert!(cost(1, 2, FULL) < cost(1, 3, 0));
    assert!(cost(crowd, crowd, FULL) >= cost(2, 2, FULL), "no overflow");
}

#[test]
fn a_full_core_is_never_left_for_another_node() {
    let home = place(0, 0, 0);
    assert_eq!(spill_cost(&home, &place(1, 8, 1), 0), u64::MAX);
    assert_eq!(spill_cost(&home, &place(0, 8, 1), 0), u64::MAX, "a cache over two nodes");
}

#[test]
fn a_cpu_runs_a_quarter_faster_than_it_is_used() {
    // SAFETY: no pointer is passed.
    let speed = |used| unsafe { native_performance_for(used) };
    assert_eq!([0, 400, 819, 820, FULL].map(speed), [0, 500, 1023, FULL, FULL]);
}

#[test]
fn a_spilled_thread_does_not_fit_back_at_once() {
    // what saturated one core does not fit together, whichever way it is split
    for home in 0..=FULL {
        // SAFETY: no pointer is passed.
        let (saturates, fits) = unsafe {
            let thread = (FULL * 9 / 10).saturating_sub(home);
            (native_load_saturates(home + thread), native_loads_fit_together(home, thread))
        };
        assert!(!(saturates && fits), "{home}");
    }
}

/// With RSS, each CPU near the NIC has softirq of its own. A thread that left on an alarm goes back.
#[test]
fn a_spilled_thread_fits_back_beside_the_softirq_of_its_home() {
    let (home, thread) = (FULL * 55 / 100, FULL * 16 / 100);
    // SAFETY: no pointer is passed.
    assert!(unsafe { native_loads_fit_together(home, thread) });
}

/// While a thread is alone on a full NIC-local core, its NIC's steering is not known.
#[test]
fn a_full_core_is_left_until_packets_are_known_to_follow() {
    // SAFETY: points to a live struct.
    let helps = |s: &nic_steering, threads| unsafe { native_spill_helps(s, threads) };
    let mut s = UNKNOWN_STEERING;
    assert!(helps(&s, 1), "the move reveals it");
    for (followed, alone) in [(true, true), (true, false), (false, true), (false, true)] {
        steering_vote(&mut s, followed);
        assert_eq!(helps(&s, 1), alone, "score {}", s.score);
        assert!(helps(&s, 2));
    }
    // SAFETY: points to a live struct.
    assert!(unsafe { native_steering_is_fixed(&s) });
}

#[test]
fn a_core_with_room_is_not_saturated() {
    // SAFETY: no pointer is passed.
    assert!(unsafe { (0..=FULL).all(|l| !(native_load_has_room(l) && native_load_saturates(l))) });
}

#[test]
fn a_core_that_was_idle_for_a_sixteenth_is_not_full() {
    // SAFETY: no pointer is passed.
    let fills = |busy_ms: u64| unsafe { native_load_fills(busy_ms << 20, 16 << 20) };
    assert_eq!([0, 14, 15, 16, 17].map(fills), [false, false, true, true, true]);
}

#[test]
fn a_preempted_thread_waits_only_for_little_traffic_in_short_runs() {
    const US: u32 = 1_000;
    // SAFETY: no pointer is passed.
    let passes = |load, run_ns| unsafe { native_load_passes(load, run_ns) };
    assert!(passes(0, 0) && passes(FULL / 4, 100 * US));
    assert!(!passes(FULL / 4 + 1, 100 * US), "it would wait for most of the time");
    assert!(!passes(0, 100 * US + 1), "moving costs less");
}

#[test]
fn a_core_is_lent_the_sooner_the_less_traffic_it_has() {
    const MS: u64 = 1_000_000;
    // SAFETY: no pointer is passed.
    let wait = |most_ns, load| unsafe { native_lend_wait(most_ns, load) };
    assert_eq!(wait(1024 * MS, FULL), 1024 * MS);
    assert_eq!(wait(1024 * MS, FULL / 4), 256 * MS);
    assert_eq!(wait(50 * MS, 0), 2 * MS);
    assert_eq!(wait(MS, FULL / 4), MS, "not later than was asked for");
    assert_eq!(wait(0, FULL), 0);
}

fn for_short(short_load: u32, long_load: u32, cpus: u32) -> u32 {
    // SAFETY: no pointer is passed.
    unsafe { native_cpus_for_short(short_load, long_load, cpus) }
}

#[test]
fn short_flows_get_what_long_flows_can_do_without() {
    assert_eq!(for_short(FULL / 2, 2 * FULL, 4), 1);
    assert_eq!(for_short(FULL, 2 * FULL, 4), 1, "two would leave too little for the long flows");
    assert_eq!(for_short(FULL, FULL, 4), 2, "a full core is not enough for what fills it");
    assert_eq!(for_short(3 * FULL / 2, 5 * FULL / 2, 4), 1, "not enough for either");
    assert_eq!(for_short(2 * FULL, 2 * FULL, 4), 2);
    assert_eq!(for_short(FULL / 2, 4 * FULL, 4), 0, "half a core's work is not worth a whole one");
}

fn run_average(average: u32, ran: u64) -> u32 {
    // SAFETY: no pointer is passed.
    unsafe { native_run_average(average, ran) }
}

#[test]
fn one_long_run_makes_the_average_long_and_short_ones_make_it_short_again() {
    let after = run_average(10_000, 5_000_000);
    assert!(after > 50_000, "{after}");
    let later = (0..40).fold(after, |average, _| run_average(average, 10_000));
    assert!((10_000..20_000).contains(&later), "{later}");
}

proptest! {
    #[test]
    fn the_average_moves_towards_the_run(average in 0u32..1 << 28, ran in 0u64..1 << 40) {
        let (after, ran) = (run_average(average, ran), ran.min(1 << 28) as u32);
        prop_assert!((average.min(ran)..=average.max(ran)).contains(&after), "{}", after);
    }

    #[test]
    fn more_to_do_never_means_fewer_cpus(
        short in 0u32..=64 * FULL, more in 0u32..=4 * FULL, long in 0u32..=64 * FULL, cpus in 1u32..1024,
    ) {
        let now = for_short(short, long, cpus);
        prop_assert!(now < cpus, "long flows keep one");
        prop_assert!(now <= for_short(short + more, long, cpus));
        prop_assert!(now >= for_short(short, long + more, cpus));
        prop_assert!(now <= for_short(short, long, cpus + 1));
    }

    #[test]
    fn what_was_taken_from_a_crowd_is_not_taken_back(
        weight in 1u64..1 << 32, own in 1u64..1 << 32, cpus in 1u32..512, own_cpus in 1u32..512,
        thread in 1u64..1 << 17,
    ) {
        let after = weight.saturating_sub(thread / u64::from(cpus));
        let own_after = own + thread / u64::from(own_cpus);
        // SAFETY: no pointer is passed.
        let (taken, taken_back) = unsafe {(
            native_is_more_crowded(weight, own, own_cpus, thread),
            native_is_more_crowded(own_after, after, cpus, thread),
        )};
        prop_assert!(!(taken && taken_back));
        prop_assert!(!taken || weight > own, "only from more crowded ones");
    }

    #[test]
    fn where_virtual_time_is_slow_more_weight_shares_a_cpu(
        threads in 1u64..1000, window in 50_000_000u64..1_000_000_000,
    ) {
        // SAFETY: no pointer is passed.
        let weight = unsafe { native_crowd_of(window, window / threads) };
        prop_assert!(weight.abs_diff(1024 * threads) <= 1024 * threads / 1000 + 1, "{}", weight);
    }

    #[test]
    fn a_cache_is_as_crowded_as_it_is_used(
        percent in 0u64..=100, passed in 0u64..100_000_000, window in 50_000_000u64..1_000_000_000,
    ) {
        // SAFETY: no pointer is passed.
        let (some, all) = unsafe {(
            native_crowd_of(window * percent / 100, passed),
            native_crowd_of(window, passed),
        )};
        prop_assert!(some <= all && all <= 1 << 20, "it is forgotten within a second");
        prop_assert!(percent > 0 || some == 0, "an idle cache carries nothing");
    }

    /// Threads seen within two windows are counted, others are not.
    #[test]
    fn threads_are_counted_while_they_run(
        threads in 1u32..100, first: u32, later in 0u32..5,
    ) {
        let mut heads = head_count { window: 0, now: 0, before: 0 };
        // SAFETY: points to a live struct.
        (0..threads).for_each(|_| unsafe { native_heads_add(&mut heads, first) });
        // SAFETY: as above.
        let seen = unsafe { native_heads_in(&heads, first.wrapping_add(later)) };
        prop_assert_eq!(seen, if later <= 1 { threads } else { 0 });
    }

    /// No reading of a clock or counter takes a load out of its range.
    #[test]
    fn loads_stay_in_range(load in 0..=FULL, busy: u64, window in 1u64..) {
        prop_assert!(update(load, busy, window) <= FULL);
    }

    /// A steady demand is found within ten windows, whatever the load was.
    #[test]
    fn loads_converge(load in 0..=FULL, busy in 0u64..=100_000_000) {
        let found = (0..10).fold(load, |load, _| update(load, busy, 100_000_000));
        prop_assert!(found.abs_diff((busy * 1024 / 100_000_000) as u32) <= 2);
    }
}
