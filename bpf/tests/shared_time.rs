//! Properties of the time that long and short flows share (shared_time.h), run natively from the
//! header that is compiled for BPF.

use std::collections::BTreeMap;

use proptest::prelude::*;
use steer_bpf::intf::*;

const WINDOW_NS: u64 = 100_000_000;
const LONG: u32 = traffic_class_CLASS_LONG;
const SHORT: u32 = traffic_class_CLASS_SHORT;
const MIXED: u32 = traffic_class_CLASS_MIXED;

/// An idle CPU, then one that works for a class of flows.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    idle_ns: u64,
    class: u32,
    busy_ns: u64,
}

fn stretch() -> impl Strategy<Value = Stretch> {
    let few = 0..WINDOW_NS / 10;
    let many = 0..4 * WINDOW_NS;
    let ns = prop_oneof![few, many];
    (ns.clone(), 0..4u32, ns).prop_map(|(idle_ns, class, busy_ns)| Stretch {
        idle_ns,
        class,
        busy_ns,
    })
}

/// The same by going through the windows one by one: long and mixed time of all but the last.
fn by_window(stretches: &[Stretch]) -> (u64, u64) {
    let mut windows = BTreeMap::<u64, (u64, u64)>::new();
    let mut now = 0;
    for stretch in stretches {
        now += stretch.idle_ns;
        let end = now + stretch.busy_ns;
        while now < end {
            let until = end.min((now / WINDOW_NS + 1) * WINDOW_NS);
            let (long, short) = windows.entry(now / WINDOW_NS).or_default();
            *long += if [LONG, MIXED].contains(&stretch.class) { until - now } else { 0 };
            *short += if [SHORT, MIXED].contains(&stretch.class) { until - now } else { 0 };
            now = until;
        }
    }
    let finished = windows.range(..now / WINDOW_NS);
    finished.fold((0, 0), |(all, mixed), (_, (long, short))| {
        (all + long, mixed + if *short >= WINDOW_NS / 20 { *long } else { 0 })
    })
}

proptest! {
    #[test]
    fn each_window_counts_for_itself(stretches in prop::collection::vec(stretch(), 1..30)) {
        // SAFETY: a struct of integers.
        let mut seen: shared_time = unsafe { std::mem::zeroed() };
        let mut now = 0;
        for Stretch { idle_ns, class, busy_ns } in &stretches {
            now += idle_ns + busy_ns;
            // SAFETY: the pointer is to a live struct.
            unsafe { native_shared_time_add(&mut seen, *class as u8, *busy_ns, now) };
        }
        // closes what ended before
        // SAFETY: as above.
        unsafe { native_shared_time_add(&mut seen, 0, 0, now) };
        prop_assert_eq!((seen.long_ns, seen.mixed_ns), by_window(&stretches));
    }
}
