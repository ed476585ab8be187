//! The client's report, as JSON (version 1) and as text.

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::histogram::{encode_histogram, percentile};
use super::mark::StageReport;
use crate::long::Completed;

/// The result of one client run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientReport {
    /// Format of this object.
    pub version: u32,
    /// Measured seconds; fewer than asked for when the run was cut short.
    pub duration_s: f64,
    /// The long flows; `None` when there were none, or they were not measured.
    pub long: Option<LongReport>,
    /// The RPCs; `None` when there were none, or they were not measured.
    pub rpc: Option<RpcReport>,
    /// The stages of a shifting load; empty if the load did not shift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageReport>,
    /// What went wrong. If not empty, the figures are partial.
    pub errors: Vec<String>,
}

/// What the long flows moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongReport {
    /// Flows.
    pub flows: usize,
    /// Payload bytes that arrived in the measured time: acknowledged by the server, or received
    /// from it.
    pub bytes: u64,
    /// `bytes` per second.
    pub bytes_per_s: f64,
    /// `bytes`, flow by flow; empty if only their sum was counted.
    pub per_flow_bytes: Vec<u64>,
    /// How evenly the flows shared `bytes`: Jain's index. It is 1 if all had the same, and 1/n if
    /// one of n had everything. Absent with fewer than two flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<f64>,
    /// The zero-copy sends of the whole run, if these were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zerocopy: Option<Completed>,
    /// Who counted these bytes, if it was not the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The figures of the RPCs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RpcReport {
    /// Connections.
    pub connections: u32,
    /// Bytes of every request and every reply.
    pub size: u64,
    /// Payload bytes of every request, if different from `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_size: Option<u64>,
    /// RPCs that began in the measured time and were answered.
    pub count: u64,
    /// `count` per second.
    pub rate: f64,
    /// Median latency in microseconds. This and the next two are `None` when nothing was answered.
    pub p50_us: Option<f64>,
    /// 99th percentile in microseconds.
    pub p99_us: Option<f64>,
    /// 99.9th percentile in microseconds.
    pub p999_us: Option<f64>,
    /// Smoothed round-trip time in microseconds at the end of the run, as the client's kernel
    /// measured it: the mean over some connections that made enough RPCs. Absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<f64>,
    /// All latencies in nanoseconds: an HdrHistogram (V2, deflated) in base64. Absent if another
    /// program measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<String>,
    /// The program that measured these figures, if it was not the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The time that program measured, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
}

impl ClientReport {
    /// The format this program writes and reads.
    pub const VERSION: u32 = 1;

    /// An empty report, for the traffic of other programs only.
    pub fn of_others(measured: Duration) -> Self {
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
            source: None,
        }
    }
}

impl RpcReport {
    /// Payload of one RPC, request and reply.
    pub fn payload(&self) -> u64 {
        self.request_size.unwrap_or(self.size).saturating_add(self.size)
    }

    /// Warns if another program measured for a different time than the rest of the sample took.
    pub fn warning(&self, sample_s: f64) -> Option<String> {
        const OFF: f64 = 0.25;
        let (source, duration_s) = (self.source.as_ref()?, self.duration_s?);
        ((duration_s / sample_s - 1.0).abs() > OFF).then(|| {
            format!(
                "{source} measured {duration_s:.1} s, but the rest of the sample took {sample_s:.1} s: its \
                 figures are partly from another load"
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

/// Jain's index of two or more shares.
fn fairness(shares: &[u64]) -> Option<f64> {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    (shares.len() > 1 && sum > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
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

#[cfg(test)]
mod tests {
    use super::super::histogram::new_histogram;
    use super::*;

    #[test]
    fn fairness_goes_from_one_for_all_to_all_alike() {
        assert_eq!((fairness(&[]), fairness(&[5]), fairness(&[0, 0])), (None, None, None));
        assert_eq!(fairness(&[7, 7, 7, 7]), Some(1.0));
        assert_eq!(fairness(&[7, 0, 0, 0]), Some(0.25));
        assert_eq!(fairness(&[1, 3]), Some(0.8));
    }

    #[test]
    fn another_programs_time_is_compared() {
        let mut report = RpcReport::new(1, 100, &new_histogram(), Duration::from_secs(1)).unwrap();
        assert_eq!((report.warning(8.0), report.payload()), (None, 200), "it is our own");
        report.source = Some("wrk".to_owned());
        report.request_size = Some(0);
        for (duration_s, doubtful) in [(8.0, false), (7.0, false), (5.0, true), (11.0, true)] {
            report.duration_s = Some(duration_s);
            assert_eq!(report.warning(8.0).is_some(), doubtful, "{duration_s}");
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
