//! Properties of the histograms' buckets (buckets.h and its inverse), run natively from the header
//! that is compiled for BPF.

use proptest::prelude::*;
use steer_bpf::{bucket_floor, intf::native_bucket_of};

const MANY: u32 = 248;

fn bucket_of(value: u64, buckets: u32) -> usize {
    // SAFETY: no pointer is passed.
    unsafe { native_bucket_of(value, buckets) as usize }
}

#[test]
fn every_bucket_begins_at_its_floor() {
    for bucket in 0..MANY as usize {
        let floor = bucket_floor(bucket);
        assert_eq!(bucket_of(floor, MANY), bucket);
        assert!(bucket == 0 || bucket_of(floor - 1, MANY) == bucket - 1, "{bucket}");
    }
}

proptest! {
    #[test]
    fn a_bucket_says_its_values_to_a_quarter(value in 4u64..1 << 60) {
        let bucket = bucket_of(value, MANY);
        let (floor, next) = (bucket_floor(bucket), bucket_floor(bucket + 1));
        prop_assert!((floor..next).contains(&value), "{} to {}", floor, next);
        prop_assert!(next - floor <= floor / 4);
    }

    #[test]
    fn the_last_bucket_holds_all_beyond(value: u64, buckets in 1u32..MANY) {
        let last = buckets as usize - 1;
        let bucket = bucket_of(value, buckets);
        prop_assert!(bucket <= last);
        prop_assert_eq!(bucket == last, value >= bucket_floor(last));
    }
}
