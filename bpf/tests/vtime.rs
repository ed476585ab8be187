//! Properties of virtual time (vtime.h), run natively from the header that is compiled for BPF.

use proptest::prelude::*;
use steer_bpf::intf::{native_vtime_by, native_vtime_limited, native_vtime_of_head};

const SLICE: u64 = 5_000_000;
/// The most that a thread may be ahead or behind.
const MOST: u32 = 10_000_000;

/// How far ahead of the clock `to` a thread stands that was `ahead` of the clock `from`.
fn carried(ahead: i64, from: u64, to: u64) -> i64 {
    // SAFETY: no pointer is passed.
    let vtime = unsafe { native_vtime_by(from.wrapping_add_signed(ahead), from, to, MOST.into()) };
    vtime.wrapping_sub(to).cast_signed()
}

/// How far ahead of the clock `now` a thread stands when it begins to wait that was `ahead` of it.
fn awake(ahead: i64, now: u64) -> i64 {
    // SAFETY: no pointer is passed.
    let vtime =
        unsafe { native_vtime_limited(now.wrapping_add_signed(ahead), now, SLICE, MOST.into()) };
    vtime.wrapping_sub(now).cast_signed()
}

/// How far ahead of the clock `now` the first thread of a queue counts, which is `ahead` of it and
/// has waited for so long.
fn as_head(ahead: i64, now: u64, waited_ns: i64) -> i64 {
    let at = now.wrapping_add_signed(ahead);
    // SAFETY: no pointer is passed.
    let vtime = unsafe { native_vtime_of_head(at, now, SLICE, waited_ns) };
    vtime.wrapping_sub(now).cast_signed()
}

proptest! {
    #[test]
    fn of_two_starved_threads_the_one_that_has_waited_longest_comes_first(
        a in -i64::from(u32::MAX)..=-5_000_000, b in -i64::from(u32::MAX)..=-5_000_000, now: u64,
        longer in 1..i64::from(u32::MAX), shorter in i64::MIN / 2..i64::from(u32::MAX),
    ) {
        let shorter = shorter.min(longer - 1);
        prop_assert!(as_head(a, now, longer) < as_head(b, now, shorter));
    }

    #[test]
    fn a_starved_thread_comes_before_others_that_keep_their_order(
        a in -4_999_999..i64::MAX / 2, waited: u32, starved in i64::MIN / 2..=-5_000_000, now: u64,
    ) {
        prop_assert_eq!(as_head(a, now, waited.into()), a);
        prop_assert!(as_head(starved, now, waited.into()) < a);
    }

    #[test]
    fn a_change_of_clock_keeps_what_is_owed(ahead in -i64::from(MOST)..=MOST.into(), from: u64, to: u64) {
        prop_assert_eq!(carried(ahead, from, to), ahead);
    }

    #[test]
    fn nobody_owes_or_is_owed_more_than_the_bound(
        ahead in i64::MIN / 2..i64::MAX / 2, from: u64, to: u64,
    ) {
        let kept = carried(ahead, from, to);
        prop_assert!(kept.unsigned_abs() <= MOST.into(), "{}", kept);
    }

    #[test]
    fn the_order_of_threads_is_kept(
        a in i64::MIN / 2..i64::MAX / 2, b in i64::MIN / 2..i64::MAX / 2, from: u64, to: u64,
    ) {
        let (less, more) = (a.min(b), a.max(b));
        prop_assert!(carried(less, from, to) <= carried(more, from, to));
        prop_assert!(awake(less, from) <= awake(more, from));
    }

    #[test]
    fn a_thread_catches_up_by_one_slice_and_waits_for_others_no_longer_than_the_bound(
        ahead in i64::MIN / 2..i64::MAX / 2, now: u64,
    ) {
        prop_assert_eq!(awake(ahead, now), ahead.clamp(-5_000_000, MOST.into()));
    }
}
