//! Properties of learning a NIC's steering (steering.h), run natively from the header that is
//! compiled for BPF.

use proptest::prelude::*;
use steer_bpf::intf::*;

mod common;
use common::{UNKNOWN_STEERING, steering_vote as vote};

fn is_fixed(s: &nic_steering) -> bool {
    // SAFETY: points to a live struct.
    unsafe { native_steering_is_fixed(s) }
}

#[test]
fn unknown_steering_is_not_taken_as_fixed() {
    assert!(!is_fixed(&UNKNOWN_STEERING));
}

#[test]
fn what_is_questioned_is_not_known_until_the_next_vote() {
    let mut s = UNKNOWN_STEERING;
    (0..2).for_each(|_| vote(&mut s, false));
    // SAFETY: points to a live struct.
    unsafe { native_steering_question(&mut s) };
    assert!(!is_fixed(&s));
    vote(&mut s, false);
    assert!(is_fixed(&s));
}

#[test]
fn a_fixed_nic_is_probed_ever_more_seldom_until_packets_follow() {
    const SECOND: u64 = 1_000_000_000;
    let mut s = UNKNOWN_STEERING;
    let gaps = |s: &mut nic_steering, from: u64| {
        let mut probed = Vec::new();
        for now in from..from + 64 {
            // SAFETY: points to a live struct.
            if unsafe { native_steering_probe_is_due(s, now * SECOND) } {
                // SAFETY: as above.
                unsafe { native_steering_note_probe(s, now * SECOND) };
                probed.push(now - from);
            }
        }
        probed
    };
    assert_eq!(gaps(&mut s, 0), [0, 1, 3, 7, 15, 31, 47, 63]);
    vote(&mut s, false);
    assert_eq!(gaps(&mut s, 100), [0, 16, 32, 48], "packets that stay change nothing");
    vote(&mut s, true);
    assert_eq!(gaps(&mut s, 200), [0, 1, 3, 7, 15, 31, 47, 63]);
}

proptest! {
    /// Whatever was learned before, two moves in a row settle it, one opposite move unsettles it.
    #[test]
    fn two_votes_settle_and_one_unsettles(past in prop::collection::vec(any::<bool>(), 0..50)) {
        let mut s = UNKNOWN_STEERING;
        past.into_iter().for_each(|followed| vote(&mut s, followed));
        vote(&mut s, false);
        vote(&mut s, false);
        prop_assert!(is_fixed(&s));
        vote(&mut s, true);
        prop_assert!(!is_fixed(&s));
        vote(&mut s, false);
        prop_assert!(!is_fixed(&s), "a single move that was not followed may be chance");
    }
}
