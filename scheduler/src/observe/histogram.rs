//! The observer's histograms of received long flows: waiting times and packet sizes.

use serde::Serialize;
use steer_bpf::bucket_floor;

/// How long payload of long flows waited: from the end of NAPI and GRO for its packet to the start
/// of its copy to user space. One sample per 64 KiB.
#[derive(Debug, Serialize, PartialEq)]
pub(crate) struct NapiToCopy {
    samples: u64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    histogram: Vec<Wait>,
}

/// Sizes of the packets that TCP received for long flows, after GRO.
#[derive(Debug, Serialize, PartialEq)]
pub(crate) struct SkbSize {
    packets: u64,
    pub(crate) mean_bytes: f64,
    histogram: Vec<Size>,
}

/// A bucket: from this value up to the next possible one, which is at most a quarter larger.
#[derive(Debug, Serialize, PartialEq)]
struct Wait {
    from_us: f64,
    samples: u64,
}

/// A bucket of sizes; its width is as in [`Wait`].
#[derive(Debug, Serialize, PartialEq)]
struct Size {
    from_bytes: u64,
    packets: u64,
}

impl NapiToCopy {
    /// From the samples in each bucket of nanoseconds; `None` without any.
    pub(crate) fn new(buckets: &[u64]) -> Option<Self> {
        let us = |ns: f64| ns / 1e3;
        Some(Self {
            samples: buckets.iter().sum(),
            p50_us: us(quantile(buckets, 0.5)?),
            p99_us: us(quantile(buckets, 0.99)?),
            histogram: filled(buckets)
                .map(|(from, samples)| Wait { from_us: us(from as f64), samples })
                .collect(),
        })
    }
}

impl SkbSize {
    /// From the packets in each bucket of bytes, and their bytes; `None` without any.
    pub(crate) fn new(buckets: &[u64], bytes: u64) -> Option<Self> {
        let packets: u64 = buckets.iter().sum();
        (packets > 0).then(|| Self {
            packets,
            mean_bytes: bytes as f64 / packets as f64,
            histogram: filled(buckets)
                .map(|(from_bytes, packets)| Size { from_bytes, packets })
                .collect(),
        })
    }
}

/// The buckets that are not empty, by their smallest value.
fn filled(buckets: &[u64]) -> impl Iterator<Item = (u64, u64)> + '_ {
    let all = buckets.iter().enumerate();
    all.filter(|(_, count)| **count > 0).map(|(bucket, count)| (bucket_floor(bucket), *count))
}

/// The value below which `share` of all samples lie, assuming that the samples of a bucket are
/// spread evenly over it.
fn quantile(buckets: &[u64], share: f64) -> Option<f64> {
    let mut wanted = share * buckets.iter().sum::<u64>() as f64;
    for (bucket, &count) in buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
        let count = count as f64;
        if wanted <= count {
            let (from, to) = (bucket_floor(bucket) as f64, bucket_floor(bucket + 1) as f64);
            return Some(from + (to - from) * wanted / count);
        }
        wanted -= count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets that start at 1024, 1280, 1536, 1792 and 2048.
    const AT_1024: usize = 36;

    #[test]
    fn quantiles_lie_where_the_samples_do() {
        let mut buckets = vec![0; 80];
        assert_eq!(NapiToCopy::new(&buckets), None);
        buckets[AT_1024] = 98;
        buckets[AT_1024 + 4] = 2;
        let latency = NapiToCopy::new(&buckets).unwrap();
        assert_eq!(latency.samples, 100);
        assert!((1.024..1.28).contains(&latency.p50_us), "{latency:?}");
        assert!((2.048..2.56).contains(&latency.p99_us), "{latency:?}");
        let ends: Vec<f64> = latency.histogram.iter().map(|wait| wait.from_us).collect();
        assert_eq!(ends, [1.024, 2.048], "empty buckets are left out");
    }

    #[test]
    fn sizes_have_their_exact_mean() {
        let mut buckets = vec![0; 80];
        assert_eq!(SkbSize::new(&buckets, 0), None);
        (buckets[AT_1024], buckets[AT_1024 + 3]) = (1, 3);
        let sizes = SkbSize::new(&buckets, 7000).unwrap();
        assert_eq!((sizes.packets, sizes.mean_bytes), (4, 1750.0));
        assert_eq!(sizes.histogram[1], Size { from_bytes: 1792, packets: 3 });
    }
}
