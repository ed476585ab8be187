//! What one run of the client does, as plain numbers: a runner starts a client of its own with it,
//! or sends it to the agent on another host.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The traffic of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    /// Long flows.
    pub(crate) long_flows: u16,
    /// Bits per second of each; `None` for unlimited.
    pub(crate) long_rate: Option<u64>,
    /// RPC connections.
    pub(crate) rpc_connections: u16,
    /// Bytes of every request and every reply.
    pub(crate) rpc_size: u64,
    /// Seconds of traffic before anything is counted.
    pub(crate) warmup_s: f64,
    /// Seconds of traffic that are counted.
    pub(crate) duration_s: f64,
    /// First source port; it decides which queues the flows meet.
    pub(crate) source_port: u16,
}

impl Load {
    /// Arguments of the `steer-bench` that does it; its own flags say which numbers are too large.
    pub(crate) fn arguments(&self, server: IpAddr) -> Vec<String> {
        let rate = self.long_rate.map_or_else(|| "max".to_owned(), |bits| format!("{bits}bit"));
        let flags = [
            format!("--server={server}"),
            format!("--long-flows={}", self.long_flows),
            format!("--long-rate={rate}"),
            format!("--rpc-connections={}", self.rpc_connections),
            format!("--rpc-size={}", self.rpc_size),
            format!("--warmup={}", self.warmup_s),
            format!("--duration={}", self.duration_s),
            format!("--source-port={}", self.source_port),
        ];
        ["client".to_owned(), "--json".to_owned()].into_iter().chain(flags).collect()
    }

    /// Warm-up and measured time together.
    ///
    /// # Errors
    /// When one of them is no span of time.
    pub(crate) fn length(&self) -> Result<Duration> {
        let span = |seconds: f64, name: &'static str| {
            Duration::try_from_secs_f64(seconds).with_context(|| format!("{name} of {seconds} s"))
        };
        let sum =
            span(self.warmup_s, "a warm-up")?.checked_add(span(self.duration_s, "a duration")?);
        sum.context("warm-up and duration together are too long")
    }
}
