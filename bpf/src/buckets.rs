//! The bounds of the observer's histograms; the inverse of buckets.h.

/// The smallest value in bucket number `bucket`, which is below 248. The bucket ends where the next
/// one begins.
#[must_use]
pub fn bucket_floor(bucket: usize) -> u64 {
    let (power, quarter) = (bucket / 4, bucket as u64 % 4);
    if power == 0 { quarter } else { (4 + quarter) << (power - 1) }
}
