//! Properties of skipped exchanges (exchange.h): a thread that exchanges small messages is accounted
//! by sample, and a flow that turns long is noticed as soon as if nothing were skipped. Run natively
//! from the headers that are compiled for BPF.

use proptest::prelude::*;
use steer_bpf::intf::*;

mod common;
use common::settings;

const KIB: u64 = 1024;
const RECEIVE: u8 = direction_DIR_RECEIVE as u8;
const SEND: u8 = direction_DIR_SEND as u8;
const LONG: u8 = traffic_class_CLASS_LONG as u8;
const SHORT: u8 = traffic_class_CLASS_SHORT as u8;
/// Between two events of a thread.
const GAP_NS: u64 = 10_000;

#[derive(Clone, Copy, Debug)]
struct Event {
    socket: usize,
    direction: u8,
    bytes: u64,
}

/// A thread, what it was charged, and the flows of its sockets.
struct Thread {
    exchange: exchange,
    flows: Vec<flow>,
    load: thread_load,
    now: u64,
    bytes: u64,
    accounted: u64,
}

impl Thread {
    fn new(sockets: usize) -> Self {
        // SAFETY: structs of integers; all zero, as new BPF storage is.
        let flows = (0..sockets).map(|_| unsafe { std::mem::zeroed() }).collect();
        // SAFETY: the same.
        let (exchange, load) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        Self { exchange, flows, load, now: 1_000_000_000, bytes: 0, accounted: 0 }
    }

    /// As record_traffic() of telemetry.bpf.h. Whether the event was skipped.
    fn see(&mut self, event: Event, skips: bool) -> bool {
        let Event { socket, direction, bytes } = event;
        let (x, s, f) = (&mut self.exchange, settings(), &mut self.flows[socket]);
        self.now += GAP_NS;
        // SAFETY: all pointers are to live structs.
        unsafe {
            if skips {
                let address = socket as u64 + 1;
                if native_exchange_skips(x, &s, address, direction, bytes, self.now) {
                    return true;
                }
                self.bytes += x.skipped_bytes;
                let (skipped, messages) = (x.skipped_bytes, x.skipped_messages.into());
                native_thread_charge(&mut self.load, &s, SHORT, skipped, messages, self.now);
                native_exchange_charged(x);
                native_exchange_account(x, f, &s, direction, bytes, self.now);
            }
            let turned = native_flow_account(f, &s, direction, bytes, self.now);
            native_thread_charge(&mut self.load, &s, f.class, bytes, turned.into(), self.now);
        }
        self.bytes += bytes;
        self.accounted += 1;
        false
    }
}

fn receives(socket: usize, bytes: u64) -> Event {
    Event { socket, direction: RECEIVE, bytes }
}

fn sends(socket: usize, bytes: u64) -> Event {
    Event { socket, direction: SEND, bytes }
}

/// What a thread does: exchanges with all sockets in turns, or some events on one of them.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let answer = prop_oneof![1..8 * KIB, 16 * KIB..40 * KIB];
    let served = (50usize..200, 1..8 * KIB, answer).prop_map(|(times, request, answer)| {
        let one = |i| [receives(i % SOCKETS, request), sends(i % SOCKETS, answer)];
        (0..times).flat_map(one).collect::<Vec<_>>()
    });
    let bytes = prop_oneof![3 => 1..6 * KIB, 1 => 1..80 * KIB];
    let other = (0..SOCKETS, any::<bool>(), bytes, 1usize..40, any::<bool>()).prop_map(
        |(socket, receives_first, bytes, times, turns)| {
            let way = move |i: usize| (i.is_multiple_of(2) || !turns) == receives_first;
            let one = |i| if way(i) { receives(socket, bytes) } else { sends(socket, bytes) };
            (0..times).map(one).collect()
        },
    );
    prop::collection::vec(prop_oneof![served, other], 1..12).prop_map(|runs| runs.concat())
}
const SOCKETS: usize = 5;

proptest! {
    /// What was skipped before a burst that went on elsewhere is missing in it: a short burst.
    #[test]
    fn a_long_burst_is_noticed_at_once(events in events()) {
        let (mut skipping, mut plain) = (Thread::new(SOCKETS), Thread::new(SOCKETS));
        let surely_long = settings().long_burst_bytes + settings().short_burst_bytes;
        for event in events {
            skipping.see(event, true);
            plain.see(event, false);
            if plain.flows[event.socket].burst_bytes >= surely_long {
                prop_assert_eq!(skipping.flows[event.socket].class, LONG);
            }
        }
    }

    /// The burst before an exchange that was skipped may count: a short one.
    #[test]
    fn skipping_makes_no_flow_long(events in events()) {
        let (mut skipping, mut plain) = (Thread::new(SOCKETS), Thread::new(SOCKETS));
        let nearly_long = settings().long_burst_bytes - settings().short_burst_bytes;
        let mut was_long = [false; SOCKETS];
        for event in events {
            skipping.see(event, true);
            plain.see(event, false);
            was_long[event.socket] |= plain.flows[event.socket].burst_bytes >= nearly_long;
            prop_assert!(was_long[event.socket] || skipping.flows[event.socket].class != LONG);
        }
    }

    #[test]
    fn every_byte_is_charged_once(events in events()) {
        let (mut skipping, mut plain) = (Thread::new(SOCKETS), Thread::new(SOCKETS));
        for event in events {
            skipping.see(event, true);
            plain.see(event, false);
            prop_assert_eq!(skipping.bytes + skipping.exchange.skipped_bytes, plain.bytes);
        }
    }
}

#[test]
fn of_a_server_one_exchange_in_four_is_accounted_and_it_pays_for_all() {
    let (mut skipping, mut plain) = (Thread::new(1000), Thread::new(1000));
    for i in 0..4000 {
        for event in [receives(i % 1000, 200), sends(i % 1000, 2 * KIB), sends(i % 1000, 500)] {
            skipping.see(event, true);
            plain.see(event, false);
        }
    }
    assert!((3_000..3_300).contains(&skipping.accounted), "{} of 12,000", skipping.accounted);
    let (charged, all) = (skipping.load.short_ns as f64, plain.load.short_ns as f64);
    assert!((charged / all - 1.0).abs() < 0.1, "charged {charged} of {all} ns");
    assert_eq!(skipping.load.long_ns, 0);
}

#[test]
fn of_a_client_with_one_connection_too() {
    let mut thread = Thread::new(1);
    for _ in 0..1000 {
        thread.see(sends(0, 4 * KIB), true);
        thread.see(receives(0, 4 * KIB), true);
    }
    assert!((500..640).contains(&thread.accounted), "{} of 2,000", thread.accounted);
    assert_eq!(thread.flows[0].class, SHORT);
}

#[test]
fn proxies_and_senders_are_accounted_whole() {
    let (backend, mut proxy, mut sender) = (2, Thread::new(3), Thread::new(2));
    for i in 0..1000 {
        let client = i % 2;
        let asks = [receives(client, 500), sends(backend, 500)];
        let answers = [receives(backend, 500), sends(client, 500)];
        assert!(asks.into_iter().chain(answers).all(|event| !proxy.see(event, true)));
        assert!(!sender.see(sends(client, 500), true));
    }
}

#[test]
fn a_download_among_requests_is_long_with_its_first_64_kib() {
    // whether its exchange was to be skipped or not
    for exchanges in 1000..1004 {
        let mut thread = Thread::new(100);
        for i in 0..exchanges {
            thread.see(receives(i % 100, 200), true);
            thread.see(sends(i % 100, 500), true);
        }
        thread.see(receives(7, 200), true);
        for _ in 0..16 {
            thread.see(sends(7, 4 * KIB), true);
        }
        assert_eq!(thread.flows[7].class, LONG);
    }
}
