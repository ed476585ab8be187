//! Properties of flows and threads (flow.h, thread.h), run natively from the headers that are
//! compiled for BPF.

use proptest::prelude::*;
use steer_bpf::intf::*;

mod common;
use common::settings;

const KIB: u64 = 1024;
const MS: u64 = 1_000_000;
const RECEIVE: u8 = direction_DIR_RECEIVE as u8;
const SEND: u8 = direction_DIR_SEND as u8;
const NONE: u8 = traffic_class_CLASS_NONE as u8;
const LONG: u8 = traffic_class_CLASS_LONG as u8;
const SHORT: u8 = traffic_class_CLASS_SHORT as u8;
const MIXED: u8 = traffic_class_CLASS_MIXED as u8;

/// All zero, as new BPF storage is.
fn flow() -> flow {
    // SAFETY: a struct of integers.
    unsafe { std::mem::zeroed() }
}

fn load() -> thread_load {
    // SAFETY: a struct of integers.
    unsafe { std::mem::zeroed() }
}

fn no_home() -> home {
    // SAFETY: a struct of integers.
    unsafe { std::mem::zeroed() }
}

/// `bytes` of a flow arrive on `cpu`; until now they arrived on `before`. Returns the home.
fn vote(h: &mut home, cpu: i32, before: i32, bytes: u64, now: u64) -> i32 {
    // SAFETY: points to a live struct.
    unsafe { native_home_vote(h, cpu, before, 0, bytes, now) };
    h.cpu
}

fn account(f: &mut flow, s: &class_settings, direction: u8, bytes: u64, now: u64) -> bool {
    // SAFETY: both point to live structs.
    unsafe { native_flow_account(f, s, direction, bytes, now) }
}

fn charge(t: &mut thread_load, class: u8, bytes: u64, message: bool, now: u64) {
    // SAFETY: both point to live structs.
    unsafe { native_thread_charge(t, &settings(), class, bytes, message.into(), now) }
}

fn class(t: &mut thread_load, now: u64) -> u8 {
    // SAFETY: both point to live structs.
    unsafe { native_thread_classify(t, &settings(), now) }
}

/// Sends `bytes` one way in pieces, without a pause; the flow's class after it.
fn burst(f: &mut flow, direction: u8, bytes: u64, now: &mut u64) -> u8 {
    let mut left = bytes;
    while left > 0 {
        let piece = left.min(4 * KIB);
        account(f, &settings(), direction, piece, *now);
        *now += 1000;
        left -= piece;
    }
    f.class
}

#[test]
fn a_flow_is_long_the_moment_a_burst_crosses_the_bound() {
    let mut f = flow();
    let mut now = 1;
    assert_eq!(burst(&mut f, RECEIVE, 64 * KIB - 1, &mut now), NONE);
    assert_eq!(burst(&mut f, RECEIVE, 1, &mut now), LONG);
}

/// A flow of datagrams.
fn datagrams() -> flow {
    let mut f = flow();
    f.set_datagrams(true);
    f
}

/// Datagrams one way, each answered; the flow's class after it.
fn answered(f: &mut flow, sizes: (u64, u64), times: u32, now: &mut u64) -> u8 {
    for _ in 0..times {
        for (direction, bytes) in [(RECEIVE, sizes.0), (SEND, sizes.1)] {
            account(f, &settings(), direction, bytes, *now);
            *now += 1000;
        }
    }
    f.class
}

/// QUIC: a handshake, then data that is acknowledged every two packets.
#[test]
fn acknowledged_datagrams_are_no_ping_pong() {
    for bulk in [(2 * 1350, 45), (45, 2 * 1350), (16 * 1350, 45)] {
        let (mut f, mut now) = (datagrams(), 1);
        assert_eq!(answered(&mut f, (1200, 1200), 3, &mut now), SHORT);
        assert_eq!(answered(&mut f, bulk, 20, &mut now), NONE);
        assert_eq!(burst(&mut f, RECEIVE, 64 * KIB, &mut now), LONG);
        assert_eq!(answered(&mut f, bulk, 20, &mut now), LONG);
    }
}

#[test]
fn datagrams_answered_by_their_like_are_a_ping_pong() {
    for (request, answer) in [(60, 300), (512, 512), (1400, 100)] {
        let (mut f, mut now) = (datagrams(), 1);
        assert_eq!(answered(&mut f, (request, answer), 20, &mut now), SHORT);
        // of a stream, also answers of any other size
        assert_eq!(answered(&mut flow(), (64, 8 * KIB), 20, &mut now), SHORT);
    }
}

#[test]
fn a_ping_pong_is_short_at_its_first_turn() {
    let mut f = flow();
    assert!(!account(&mut f, &settings(), RECEIVE, 4 * KIB, 1));
    assert!(account(&mut f, &settings(), SEND, 4 * KIB, 2));
    assert_eq!(f.class, SHORT);
}

#[test]
fn a_bulk_transfer_cut_by_stalls_stays_long() {
    let mut f = flow();
    let mut now = 1;
    burst(&mut f, RECEIVE, 64 * KIB, &mut now);
    for _ in 0..7 {
        now += 2 * MS;
        assert_eq!(burst(&mut f, RECEIVE, 8 * KIB, &mut now), LONG);
    }
}

#[test]
fn a_home_that_moved_is_followed_within_the_bound() {
    let mut h = no_home();
    for _ in 0..1000 {
        vote(&mut h, 1, 1, 64 * KIB, 0);
    }
    assert_eq!(vote(&mut h, 2, 1, 64 * KIB, 0), 1);
    let moved = (1..100).find(|_| vote(&mut h, 2, 2, 64 * KIB, 0) == 2);
    assert_eq!(moved, Some(3), "192 KiB of the flow that moved outweigh any history");
}

#[test]
fn a_home_stays_while_flows_take_turns() {
    let mut h = no_home();
    let mut changes = 0;
    for turn in 0..100 {
        for part in 0..10 {
            let (cpu, home) = (turn % 2, h.cpu);
            let now = vote(&mut h, cpu, cpu, 1024 * KIB, (turn as u64 * 10 + part) * 5 * MS);
            changes += i32::from(now != home);
        }
    }
    assert_eq!((h.cpu, changes), (0, 0), "turns of 50 ms are not followed");
}

#[test]
fn a_home_that_was_left_is_known_but_has_no_say_in_the_next() {
    let mut h = no_home();
    for _ in 0..1000 {
        vote(&mut h, 1, 1, 64 * KIB, 0);
        vote(&mut h, 2, 2, 16 * KIB, 0);
    }
    // SAFETY: points to a live struct.
    unsafe { native_home_leave(&mut h) };
    assert_eq!(h.cpu, 1, "still known");
    assert!(h.bytes > 0);
    assert_eq!(vote(&mut h, 3, 3, 1, 0), 1);
    assert_eq!(vote(&mut h, 3, 3, 1, 0), 3, "two bytes elsewhere outweigh what came before");
}

#[test]
fn a_home_is_left_for_where_most_arrives_lately() {
    let mut h = no_home();
    for now in 0..1000 {
        vote(&mut h, 1, 1, 64 * KIB, now * MS);
    }
    // the flow ended, another arrives elsewhere
    let moved = (0..1000).find(|now| vote(&mut h, 2, 2, 64 * KIB, (1000 + now) * MS) == 2);
    assert!((200..400).contains(&moved.unwrap()), "{moved:?} ms");
}

proptest! {
    /// No counter value, clock or sequence makes a vote wrap or a known home unknown.
    #[test]
    fn any_vote_leaves_a_home_that_was_voted_for(
        votes in prop::collection::vec((0..4, 0..4, any::<u64>(), any::<u64>()), 1..50)
    ) {
        let mut h = no_home();
        for (i, (cpu, before, bytes, now)) in votes.iter().enumerate() {
            let home = vote(&mut h, *cpu, *before, *bytes, *now);
            prop_assert!(h.bytes > 0);
            prop_assert!(votes[..=i].iter().any(|vote| vote.0 == home));
        }
    }

    /// If all bytes arrive on one CPU from now on, it is home after 2.5 times the bytes before.
    #[test]
    fn a_home_follows_in_bounded_time(
        votes in prop::collection::vec((0..4, 0..4, 0..1024 * KIB, 0..10_000 * MS), 0..50)
    ) {
        let mut h = no_home();
        let (mut before, mut after) = (0, 0);
        for (cpu, last, bytes, now) in votes {
            vote(&mut h, cpu, last, bytes, now);
            before += bytes;
        }
        while vote(&mut h, 9, 9, 4 * KIB, 0) != 9 {
            after += 4 * KIB;
            prop_assert!(after <= before * 5 / 2 + 4 * KIB);
        }
    }

    /// No counter value, clock or sequence makes an event panic, divide by zero or wrap a class.
    #[test]
    fn any_event_leaves_a_valid_class(
        events in prop::collection::vec((1u8..3, any::<u64>(), any::<bool>(), any::<u64>()), 1..50)
    ) {
        let (mut f, mut t) = (flow(), load());
        for (direction, bytes, message, now) in events {
            account(&mut f, &settings(), direction, bytes, now);
            charge(&mut t, f.class, bytes, message, now);
            let class = class(&mut t, now);
            prop_assert!([NONE, LONG, SHORT].contains(&f.class));
            prop_assert!([NONE, LONG, SHORT, MIXED].contains(&class));
        }
    }

    /// A higher bound never makes a flow long that a lower bound did not.
    #[test]
    fn long_is_monotone_in_its_bound(
        sizes in prop::collection::vec((1u8..3, 1u64..200_000, 0u64..3 * MS), 1..50),
        low in 20_000u64..100_000,
        more in 0u64..100_000,
    ) {
        let ever_long = |bound| {
            let s = class_settings { long_burst_bytes: bound, ..settings() };
            let (mut f, mut now) = (flow(), 1);
            sizes.iter().any(|(direction, bytes, pause)| {
                now += pause;
                account(&mut f, &s, *direction, *bytes, now);
                f.class == LONG
            })
        };
        prop_assert!(ever_long(low) || !ever_long(low + more));
    }

    /// Whatever a flow was, RPC makes it short within 16 messages and bulk long within one burst
    /// over the bound.
    #[test]
    fn classes_are_reached_in_bounded_time(
        past in prop::collection::vec((1u8..3, 1u64..500_000, 0u64..3 * MS), 0..50),
        rpc in 1u64..16 * KIB,
    ) {
        let (mut f, mut now) = (flow(), 1);
        for (direction, bytes, pause) in past {
            now += pause;
            account(&mut f, &settings(), direction, bytes, now);
        }
        let mut g = f;
        prop_assert_eq!(burst(&mut g, RECEIVE, 64 * KIB, &mut now.clone()), LONG);
        for message in 0..16 {
            account(&mut f, &settings(), if message % 2 == 0 { RECEIVE } else { SEND }, rpc, now);
            now += 1000;
        }
        // its past may leave a burst of up to any size open, which the first turn closes
        prop_assert_eq!(f.class, SHORT);
    }

    /// Near a boundary of the shares, small changes do not flip the class to and fro.
    #[test]
    fn no_flapping_at_a_boundary(long_kib in 100u64..10_000, wobble in 0u64..2) {
        let mut t = load();
        let mut flips = 0;
        let mut before = NONE;
        for round in 0..100u64 {
            // about three quarters of the cost is long, now a little more, now a little less
            let long = long_kib * 1000 + (round % 2) * long_kib * wobble;
            t.long_ns = long;
            t.short_ns = long_kib * 1000 / 3;
            t.stamp_ns = 1;
            let now = class(&mut t, 1);
            flips += u32::from(now != before);
            before = now;
        }
        prop_assert!(flips <= 1);
    }

    /// A thread that stops moving data has no class after a bounded time.
    #[test]
    fn classes_decay_to_none(long_bytes in 0u64..1 << 50, short_bytes in 0u64..1 << 50) {
        let mut t = load();
        charge(&mut t, LONG, long_bytes, false, MS);
        charge(&mut t, SHORT, short_bytes, true, MS);
        prop_assert_eq!(class(&mut t, MS + 41 * 100 * MS), NONE);
    }

    /// A mixed thread is placed as one of its two classes.
    #[test]
    fn mixed_is_placed_as_long_or_short(long in 1u64..1 << 40, short in 1u64..1 << 40) {
        let mut t = load();
        (t.long_ns, t.short_ns, t.stamp_ns) = (long, short, 1);
        class(&mut t, 1);
        // SAFETY: points to a live struct.
        let placed = unsafe { native_thread_placed_as(&t) };
        prop_assert!(t.class != MIXED || placed == LONG || placed == SHORT);
        prop_assert!(t.class == MIXED || placed == t.class);
    }
}
