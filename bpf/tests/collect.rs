//! Properties of collected events (collect.h): they change when a thread is charged, not what a flow
//! is. Run natively from the headers that are compiled for BPF.

use proptest::prelude::*;
use steer_bpf::intf::*;

mod common;
use common::settings;

const KIB: u64 = 1024;
const RECEIVE: u8 = direction_DIR_RECEIVE as u8;
const SEND: u8 = direction_DIR_SEND as u8;
const LONG: u8 = traffic_class_CLASS_LONG as u8;
const SHORT: u8 = traffic_class_CLASS_SHORT as u8;

#[derive(Clone, Copy, Debug)]
struct Event {
    thread: u32,
    direction: u8,
    bytes: u64,
    after_ns: u64,
}

/// A flow, and what its threads have been charged for.
struct Charged {
    flow: flow,
    now: u64,
    bytes: u64,
    messages: u64,
}

impl Charged {
    fn new() -> Self {
        // SAFETY: a struct of integers; all zero, as new BPF storage is.
        let flow = unsafe { std::mem::zeroed() };
        Self { flow, now: 1, bytes: 0, messages: 0 }
    }

    /// As record_traffic() of telemetry.bpf.h. Whether the event was collected.
    fn see(&mut self, event: Event) -> bool {
        let Event { thread, direction, bytes, after_ns } = event;
        let (f, now) = (&mut self.flow, self.now + after_ns);
        // SAFETY: both pointers are to live structs.
        let collected =
            unsafe { native_flow_collect(f, &settings(), thread, direction, bytes, now) };
        if !collected {
            self.account(event);
            self.bytes += u64::from(self.flow.collected_bytes);
            self.messages += u64::from(self.flow.collected_messages);
            // SAFETY: points to a live struct.
            unsafe { native_flow_collect_for(&mut self.flow, thread, 0) };
        }
        self.now = now;
        collected
    }

    /// Charges an event at once.
    fn account(&mut self, event: Event) {
        let Event { direction, bytes, after_ns, .. } = event;
        let now = self.now + after_ns;
        // SAFETY: both pointers are to live structs.
        let turned =
            unsafe { native_flow_account(&mut self.flow, &settings(), direction, bytes, now) };
        self.messages += u64::from(turned);
        self.bytes += bytes;
        self.now = now;
    }
}

/// A thread that serves a bulk transfer and a ping-pong.
struct Thread {
    flows: [Charged; 2],
    load: thread_load,
}

impl Thread {
    fn new() -> Self {
        // SAFETY: a struct of integers.
        Self { flows: [Charged::new(), Charged::new()], load: unsafe { std::mem::zeroed() } }
    }

    fn see(&mut self, of_bulk: bool, event: Event, now: u64, collects: bool) {
        let c = &mut self.flows[usize::from(of_bulk)];
        let (bytes, messages) = (c.bytes, c.messages);
        c.now = now;
        if collects {
            c.see(event);
        } else {
            c.account(event);
        }
        let (bytes, messages) = (c.bytes - bytes, (c.messages - messages) as u32);
        // SAFETY: both pointers are to live structs.
        unsafe {
            native_thread_charge(&mut self.load, &settings(), c.flow.class, bytes, messages, now);
        }
    }

    /// The long flows' part of what its flows cost lately.
    fn share(&self) -> f64 {
        self.load.long_ns as f64 / (self.load.long_ns + self.load.short_ns).max(1) as f64
    }
}

fn event(thread: u32, direction: u8, bytes: u64, after_ns: u64) -> Event {
    Event { thread, direction, bytes, after_ns }
}

/// From 20 us to 40 ms, all orders of magnitude alike.
fn gap() -> impl Strategy<Value = u64> {
    (0u32..11, 20_000u64..40_000).prop_map(|(doublings, ns)| ns << doublings)
}

/// Events as of a flow that is long for a while, then short for a while, and so on.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let direction = prop_oneof![Just(RECEIVE), Just(SEND)];
    let bytes = prop_oneof![4 => 1..20 * KIB, 2 => 32 * KIB..80 * KIB, 1 => 1..4096 * KIB];
    let after = prop_oneof![6 => 0..100_000u64, 1 => 0..3_000_000u64, 1 => 0..200_000_000u64];
    let one = (prop_oneof![9 => Just(7u32), 1 => Just(8)], direction, bytes, after);
    let repeated = (one, 1usize..30, any::<bool>()).prop_map(|(one, times, turns)| {
        let (thread, direction, bytes, after) = one;
        let other = if direction == SEND { RECEIVE } else { SEND };
        let way = move |i: usize| if turns && i % 2 == 1 { other } else { direction };
        (0..times).map(|i| event(thread, way(i), bytes, after)).collect::<Vec<_>>()
    });
    prop::collection::vec(repeated, 1..20).prop_map(|runs| runs.concat())
}

proptest! {
    /// With every event, the flow is what it would be if each event were accounted at once.
    #[test]
    fn collecting_does_not_change_the_flow(events in events(), datagrams: bool) {
        let (mut collecting, mut plain) = (Charged::new(), Charged::new());
        collecting.flow.set_datagrams(datagrams);
        plain.flow.set_datagrams(datagrams);
        for event in events {
            collecting.see(event);
            plain.account(event);
            let (f, g) = (&collecting.flow, &plain.flow);
            prop_assert_eq!(
                (f.class, f.burst_bytes, f.short_bursts, f.direction(), f.last_ns),
                (g.class, g.burst_bytes, g.short_bursts, g.direction(), g.last_ns)
            );
        }
    }

    /// Each byte and message is charged once, after six more events at most.
    #[test]
    fn nothing_is_lost_and_nothing_is_charged_twice(events in events()) {
        let (mut collecting, mut plain) = (Charged::new(), Charged::new());
        let mut waiting = 0;
        for event in events {
            waiting = if collecting.see(event) { waiting + 1 } else { 0 };
            plain.account(event);
            let f = &collecting.flow;
            prop_assert!(waiting <= 6);
            prop_assert_eq!(collecting.bytes + u64::from(f.collected_bytes), plain.bytes);
            prop_assert_eq!(collecting.messages + u64::from(f.collected_messages), plain.messages);
        }
    }

    /// A thread's class does not depend on collecting, unless its share of long flows is near the
    /// bound between two classes: an eighth of the whole is the most that waits or is charged late.
    #[test]
    fn collecting_does_not_change_a_threads_class(
        long_gap_ns in gap(), long_bytes in 4 * KIB..128 * KIB,
        short_gap_ns in gap(), short_bytes in 1..8 * KIB,
    ) {
        let (mut collecting, mut plain) = (Thread::new(), Thread::new());
        let (mut next_long, mut next_short, mut sent) = (0, 0, false);
        while next_long.min(next_short) < 2_000_000_000 {
            let now = next_long.min(next_short);
            let (bulk, event) = if next_long <= next_short {
                next_long += long_gap_ns;
                (true, event(7, RECEIVE, long_bytes, 0))
            } else {
                next_short += short_gap_ns;
                sent = !sent;
                (false, event(7, if sent { SEND } else { RECEIVE }, short_bytes, 0))
            };
            collecting.see(bulk, event, now, true);
            plain.see(bulk, event, now, false);
            if now > 1_000_000_000 {
                prop_assert!((collecting.share() - plain.share()).abs() <= 0.125);
            }
        }
    }
}

#[test]
fn a_settled_flow_is_charged_at_every_seventh_event() {
    for (turns, bytes, class) in [(true, 4 * KIB, SHORT), (false, 128 * KIB, LONG)] {
        let mut c = Charged::new();
        let mut directions = Vec::new();
        for i in 0..210 {
            let direction = if turns && i % 2 == 1 { SEND } else { RECEIVE };
            if !c.see(event(7, direction, bytes, 50_000)) && i > 20 {
                directions.push(direction);
            }
        }
        assert_eq!(c.flow.class, class);
        assert!((27..=28).contains(&directions.len()), "{} of 189 events", directions.len());
        let answers = directions.iter().filter(|way| **way == SEND).count();
        assert!(!turns || answers * 2 >= directions.len() - 1, "requests and answers in turns");
    }
}

#[test]
fn a_flow_that_turns_long_is_accounted_at_once() {
    let mut c = Charged::new();
    for i in 0..100 {
        c.see(event(7, if i % 2 == 1 { SEND } else { RECEIVE }, 4 * KIB, 50_000));
    }
    assert_eq!(c.flow.class, SHORT);
    let collected: Vec<bool> = (0..16).map(|_| c.see(event(7, RECEIVE, 4 * KIB, 50_000))).collect();
    assert_eq!(c.flow.class, LONG, "64 KiB one way");
    assert!(collected[4..].iter().all(|c| !c), "beyond a short burst, nothing waits");
}

#[test]
fn events_of_another_thread_or_a_slow_flow_are_not_collected() {
    let ping = |i: u32| if i % 2 == 1 { SEND } else { RECEIVE };
    let mut shared = Charged::new();
    assert!((0..100).all(|i| !shared.see(event(i % 3 + 1, ping(i), 4 * KIB, 50_000))));
    let mut slow = Charged::new();
    assert!((0..100).all(|i| !slow.see(event(7, ping(i), 4 * KIB, 13_000_000))));
}
