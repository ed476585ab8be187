//! Moments of the measured time, and the work done between them: the stages of a shifting load.

use std::fmt;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::histogram::percentile;
use super::options::ClientOptions;

/// A moment of the measured time, and the bytes that each long flow had moved by then.
pub(super) struct Mark {
    pub(super) at: Instant,
    /// `None` if there are no flows, or the bytes are unknown.
    pub(super) per_flow_bytes: Option<Vec<u64>>,
}

impl Mark {
    /// What each flow moved until a later moment. `None` if that is unknown.
    pub(super) fn moved(&self, end: &Self) -> Option<Vec<u64>> {
        let (begin, end) = (self.per_flow_bytes.as_ref()?, end.per_flow_bytes.as_ref()?);
        Some(end.iter().zip(begin).map(|(end, begin)| end - begin).collect())
    }
}

/// One stage of a shifting load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageReport {
    /// Its length in seconds.
    pub duration_s: f64,
    /// Active long flows.
    pub long_flows: u16,
    /// Payload bytes of all long flows that arrived in this stage. `None` when no stage has long
    /// flows, or when they could not be measured.
    pub long_bytes: Option<u64>,
    /// Active RPC connections.
    pub rpc_connections: u32,
    /// RPCs that began in this stage and were answered.
    pub rpc_count: u64,
    /// Their median latency in microseconds. This and the next are `None` when nothing was
    /// answered.
    pub rpc_p50_us: Option<f64>,
    /// 99th percentile in microseconds.
    pub rpc_p99_us: Option<f64>,
}

impl StageReport {
    /// The figures of a stage with these numbers of long flows and RPC connections.
    pub(super) fn new(
        (long_flows, rpc_connections): (u16, u32),
        length: Duration,
        long_bytes: Option<u64>,
        latencies: &Histogram<u64>,
    ) -> Self {
        Self {
            duration_s: length.as_secs_f64(),
            long_flows,
            long_bytes,
            rpc_connections,
            rpc_count: latencies.len(),
            rpc_p50_us: percentile(latencies, 0.5),
            rpc_p99_us: percentile(latencies, 0.99),
        }
    }
}

impl fmt::Display for StageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |bytes: u64| format!("{:.2}", bytes as f64 * 8.0 / 1e6 / self.duration_s);
        let long = self.long_bytes.map_or("-".to_owned(), rate);
        let rpc = self.rpc_count as f64 / self.duration_s;
        let (flows, connections) = (self.long_flows, self.rpc_connections);
        write!(f, "{flows} flows {long} Mbit/s, {connections} connections {rpc:.0} RPCs/s")
    }
}

/// Reports each measured stage, from the marks at its ends and its latencies. Empty if the load has
/// only one stage.
pub(super) fn stage_reports(
    options: &ClientOptions,
    marks: &[Mark],
    latencies: &[Histogram<u64>],
) -> Vec<StageReport> {
    if latencies.len() < 2 {
        return Vec::new();
    }
    let loads = options.long_by_stage().into_iter().zip(options.rpc_by_stage());
    let ends = marks.iter().zip(marks.iter().skip(1));
    let report = |((load, (begin, end)), latencies): ((_, (&Mark, &Mark)), _)| {
        let bytes = begin.moved(end).map(|moved| moved.iter().sum());
        StageReport::new(load, end.at - begin.at, bytes, latencies)
    };
    loads.zip(ends).zip(latencies).map(report).collect()
}
