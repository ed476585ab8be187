//! What the client saw, as JSON (version 1) and as text.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

use super::mark::StageReport;
use crate::traffic::long::Completed;

/// The result of one client run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ClientReport {
    /// Format of this object.
    pub(crate) version: u32,
    /// Seconds that were measured; shorter than asked for when the run was cut short.
    pub(crate) duration_s: f64,
    /// The long flows; `None` when there were none, or none was measured.
    pub(crate) long: Option<LongReport>,
    /// The RPCs; `None` when there were none, or none was measured.
    pub(crate) rpc: Option<RpcReport>,
    /// What was done in each stage of a load that shifts; no stages where it did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) stages: Vec<StageReport>,
    /// What went wrong; the figures are partial when there is anything.
    pub(crate) errors: Vec<String>,
}

/// What the long flows moved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LongReport {
    /// Flows.
    pub(crate) flows: usize,
    /// Payload bytes that arrived in the measured time: acknowledged by the server, or received
    /// from it.
    pub(crate) bytes: u64,
    /// `bytes` per second.
    pub(crate) bytes_per_s: f64,
    /// `bytes`, flow by flow.
    pub(crate) per_flow_bytes: Vec<u64>,
    /// How evenly the flows shared `bytes`: Jain's index, 1 where each had as much, 1/n where one of n had
    /// all. Absent with fewer than two flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fairness: Option<f64>,
    /// What became of the sends of the whole run, where they were to be without a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) zerocopy: Option<Completed>,
}

/// How the RPCs did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RpcReport {
    /// Connections.
    pub(crate) connections: u32,
    /// Bytes of every request and every reply.
    pub(crate) size: u64,
    /// Bytes of payload in every request, where those are not `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request_size: Option<u64>,
    /// RPCs that began in the measured time and were answered.
    pub(crate) count: u64,
    /// `count` per second.
    pub(crate) rate: f64,
    /// Median latency in microseconds; `None` when nothing was answered, as for the next two.
    pub(crate) p50_us: Option<f64>,
    /// 99th percentile in microseconds.
    pub(crate) p99_us: Option<f64>,
    /// 99.9th percentile in microseconds.
    pub(crate) p999_us: Option<f64>,
    /// Smoothed round-trip time of the connections as the run ended, by the client's kernel, in
    /// microseconds: the mean over some of those that asked often enough. Absent where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rtt_us: Option<f64>,
    /// All latencies in nanoseconds: an HdrHistogram (V2, deflated) in base64. Absent where another
    /// program measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) histogram: Option<String>,
    /// The program that these figures are from, where it is not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    /// Seconds that it measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) duration_s: Option<f64>,
}

impl ClientReport {
    /// The format this program writes and reads.
    pub(crate) const VERSION: u32 = 1;

    /// A report about other programs' traffic alone, to be filled in.
    pub(crate) fn of_others(measured: Duration) -> Self {
        let duration_s = measured.as_secs_f64();
        Self {
            version: Self::VERSION,
            duration_s,
            long: None,
            rpc: None,
            stages: Vec::new(),
            errors: Vec::new(),
        }
    }
}

impl LongReport {
    /// The figures of `per_flow_bytes` over the measured time.
    pub(super) fn new(
        per_flow_bytes: Vec<u64>,
        measured: Duration,
        zerocopy: Option<Completed>,
    ) -> Self {
        let bytes = per_flow_bytes.iter().sum();
        Self {
            flows: per_flow_bytes.len(),
            bytes,
            bytes_per_s: bytes as f64 / measured.as_secs_f64(),
            fairness: fairness(&per_flow_bytes),
            per_flow_bytes,
            zerocopy,
        }
    }
}

impl RpcReport {
    /// Payload of one RPC, request and reply.
    pub(crate) fn payload(&self) -> u64 {
        self.request_size.unwrap_or(self.size).saturating_add(self.size)
    }

    /// Whether another program measured for another time than the rest of the sample took.
    pub(crate) fn doubt(&self, sample_s: f64) -> Option<String> {
        const OFF: f64 = 0.25;
        let (source, duration_s) = (self.source.as_ref()?, self.duration_s?);
        ((duration_s / sample_s - 1.0).abs() > OFF).then(|| {
            format!(
                "{source} measured {duration_s:.1} s, the rest of the sample is {sample_s:.1} s: its \
                 figures are in part of another load"
            )
        })
    }

    /// The figures of a latency histogram over the measured time.
    pub(super) fn new(
        connections: u32,
        size: u64,
        latencies: &Histogram<u64>,
        measured: Duration,
    ) -> Result<Self> {
        let percentile = |quantile| percentile(latencies, quantile);
        Ok(Self {
            connections,
            size,
            count: latencies.len(),
            rate: latencies.len() as f64 / measured.as_secs_f64(),
            p50_us: percentile(0.5),
            p99_us: percentile(0.99),
            p999_us: percentile(0.999),
            rtt_us: None,
            histogram: Some(encode_histogram(latencies)?),
            request_size: None,
            source: None,
            duration_s: None,
        })
    }
}

/// Jain's index of several shares, if there are any.
fn fairness(shares: &[u64]) -> Option<f64> {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    (shares.len() > 1 && sum > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// A quantile of nanoseconds in microseconds, if there are any.
pub(super) fn percentile(latencies: &Histogram<u64>, quantile: f64) -> Option<f64> {
    (!latencies.is_empty()).then(|| latencies.value_at_quantile(quantile) as f64 / 1000.0)
}

impl fmt::Display for ClientReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "measured {:.2} s", self.duration_s)?;
        if let Some(long) = &self.long {
            let megabits = long.bytes_per_s * 8.0 / 1e6;
            writeln!(f, "long flows  {:>6} flows        {megabits:>10.2} Mbit/s", long.flows)?;
            if let Some(completed) = &long.zerocopy {
                writeln!(f, "  {completed}")?;
            }
        }
        if let Some(rpc) = &self.rpc {
            writeln!(f, "RPCs        {:>6} connections  {:>10.0} /s", rpc.connections, rpc.rate)?;
            let percentiles = [("p50", rpc.p50_us), ("p99", rpc.p99_us), ("p99.9", rpc.p999_us)];
            for (name, value) in percentiles {
                let value = value.map_or("no reply".into(), |value| format!("{value:.0} µs"));
                writeln!(f, "  latency {name:<6} {value:>28}")?;
            }
        }
        for (number, stage) in (1..).zip(&self.stages) {
            writeln!(f, "stage {number}: {stage}")?;
        }
        Ok(())
    }
}

/// An empty histogram of nanoseconds: 1 ns to 100 s, three significant digits.
pub(crate) fn new_histogram() -> Histogram<u64> {
    const HIGHEST: u64 = 100_000_000_000;
    // These bounds are valid for every histogram: creation fails on 0 or more than five digits.
    Histogram::new_with_bounds(1, HIGHEST, 3).expect("valid bounds")
}

fn encode_histogram(histogram: &Histogram<u64>) -> Result<String> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .context("cannot encode the latency histogram")?;
    Ok(BASE64_STANDARD.encode(bytes))
}

/// Reads the histogram of an [`RpcReport`]; values are nanoseconds.
///
/// # Errors
/// When the text is no base64, or the bytes are no HdrHistogram.
pub(crate) fn decode_histogram(text: &str) -> Result<Histogram<u64>> {
    let bytes = BASE64_STANDARD.decode(text).context("the latency histogram is no base64")?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| anyhow::anyhow!("the latency histogram is damaged: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is decoded is what was measured, to the bucket.
        #[test]
        fn histograms_survive_the_json(
            values in prop::collection::vec(1u64..200_000_000_000, 0..200),
        ) {
            let mut histogram = new_histogram();
            for value in values {
                histogram.saturating_record(value);
            }
            let text = encode_histogram(&histogram).unwrap();
            prop_assert_eq!(decode_histogram(&text).unwrap(), histogram);
        }
    }

    #[test]
    fn fairness_goes_from_one_for_all_to_all_alike() {
        assert_eq!((fairness(&[]), fairness(&[5]), fairness(&[0, 0])), (None, None, None));
        assert_eq!(fairness(&[7, 7, 7, 7]), Some(1.0));
        assert_eq!(fairness(&[7, 0, 0, 0]), Some(0.25));
        assert_eq!(fairness(&[1, 3]), Some(0.8));
    }

    #[test]
    fn damaged_histograms_say_so() {
        assert!(decode_histogram("*").unwrap_err().to_string().contains("base64"));
        assert!(decode_histogram("AAAA").unwrap_err().to_string().contains("damaged"));
    }

    #[test]
    fn another_programs_time_is_compared() {
        let mut report = RpcReport::new(1, 100, &new_histogram(), Duration::from_secs(1)).unwrap();
        assert_eq!((report.doubt(8.0), report.payload()), (None, 200), "it is our own");
        report.source = Some("wrk".to_owned());
        report.request_size = Some(0);
        for (duration_s, doubtful) in [(8.0, false), (7.0, false), (5.0, true), (11.0, true)] {
            report.duration_s = Some(duration_s);
            assert_eq!(report.doubt(8.0).is_some(), doubtful, "{duration_s}");
        }
        assert_eq!(report.payload(), 100);
    }

    #[test]
    fn percentiles_are_microseconds_and_absent_without_replies() {
        let second = Duration::from_secs(1);
        let mut latencies = new_histogram();
        let empty = RpcReport::new(1, 1, &latencies, second).unwrap();
        assert_eq!((empty.count, empty.p50_us), (0, None));
        latencies.record_n(2_000, 1000).unwrap();
        let report = RpcReport::new(1, 1, &latencies, second).unwrap();
        assert_eq!((report.count, report.rate), (1000, 1000.0));
        assert!((report.p99_us.unwrap() - 2.0).abs() < 0.01);
    }
}
