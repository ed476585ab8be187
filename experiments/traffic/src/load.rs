//! What one run of the client does, as plain numbers. A runner starts its own client with them, or
//! sends them to the agent on another host.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::long::Direction;
use super::stage::{self, Stage};
use steer_ground::word::Word;

/// The traffic of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Long flows.
    pub long_flows: u16,
    /// Bits per second of each long flow; `None` for unlimited.
    pub long_rate: Option<u64>,
    /// Direction of the long flows.
    pub long_direction: Direction,
    /// Whether the client sends long flows without copying.
    pub long_zerocopy: bool,
    /// RPC connections.
    pub rpc_connections: u32,
    /// RPCs per second of all connections together; 0 for no limit.
    pub rpc_rate: u32,
    /// Bytes of every request and every reply.
    pub rpc_size: u64,
    /// Stages of a shifting load; empty if it does not shift.
    pub stages: Vec<Stage>,
    /// Seconds for opening the connections, before the warm-up; 0 for no fixed time.
    pub connect_s: f64,
    /// Seconds of traffic before anything is counted.
    pub warmup_s: f64,
    /// Seconds of counted traffic.
    pub duration_s: f64,
    /// First source port. Source ports decide which queues receive the flows.
    pub source_port: u16,
}

impl Load {
    /// Arguments for a `steer-bench` that drives this load. Its flags check bounds and
    /// combinations.
    pub fn arguments(&self, servers: &[IpAddr]) -> Vec<String> {
        let servers: Vec<String> = servers.iter().map(IpAddr::to_string).collect();
        let rate = self.long_rate.map_or_else(|| "max".to_owned(), |bits| format!("{bits}bit"));
        let flags = [
            format!("--server={}", servers.join(",")),
            format!("--long-flows={}", self.long_flows),
            format!("--long-rate={rate}"),
            format!("--long-direction={}", self.long_direction.word()),
            format!("--rpc-connections={}", self.rpc_connections),
            format!("--rpc-rate={}", self.rpc_rate),
            format!("--rpc-size={}", self.rpc_size),
            format!("--warmup={}", self.warmup_s),
            format!("--duration={}", self.duration_s),
            format!("--source-port={}", self.source_port),
        ];
        let mut arguments = vec!["client".to_owned(), "--json".to_owned()];
        arguments.extend(flags);
        arguments.extend(self.stages.iter().map(|stage| format!("--stage={stage}")));
        let connect =
            (self.connect_s > 0.0).then(|| format!("--connect-within={}", self.connect_s));
        arguments.extend(connect);
        arguments.extend(self.long_zerocopy.then(|| "--long-zerocopy".to_owned()));
        arguments
    }

    /// Whether the load has no traffic at all.
    pub fn is_none(&self) -> bool {
        let long = stage::numbers(&self.stages, self.long_flows, |stage| stage.long_flows);
        let rpc = stage::numbers(&self.stages, self.rpc_connections, |stage| stage.rpc_connections);
        long.iter().all(|&flows| flows == 0) && rpc.iter().all(|&connections| connections == 0)
    }

    /// Connecting, warm-up and measured time in total.
    ///
    /// # Errors
    /// When one of them is not a valid span of time.
    pub fn length(&self) -> Result<Duration> {
        let span = |seconds: f64, name: &'static str| {
            Duration::try_from_secs_f64(seconds).with_context(|| format!("{name} of {seconds} s"))
        };
        let connect = span(self.connect_s, "a connecting time")?;
        let (warmup, duration) =
            (span(self.warmup_s, "a warm-up")?, span(self.duration_s, "a duration")?);
        let sum = connect.checked_add(warmup).and_then(|sum| sum.checked_add(duration));
        sum.context("connecting, warm-up and duration together are too long")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, to_value};

    fn load(long_direction: Direction, long_zerocopy: bool) -> Load {
        Load {
            long_flows: 2,
            long_rate: Some(40_000_000),
            long_direction,
            long_zerocopy,
            rpc_connections: 16,
            rpc_rate: 2000,
            rpc_size: 4096,
            stages: ["long-flows=0", "rpc-connections=32"].map(|text| text.parse().unwrap()).into(),
            connect_s: 3.0,
            warmup_s: 2.0,
            duration_s: 8.0,
            source_port: 20_000,
        }
    }

    #[test]
    fn a_load_that_arrives_is_what_was_sent_or_refused() {
        let sent = load(Direction::Out, true);
        let message = to_value(&sent).unwrap();
        assert_eq!(serde_json::from_value::<Load>(message.clone()).unwrap(), sent);
        for (field, value) in [
            ("long_direction", json!("sideways")),
            ("long_direction", json!(null)),
            ("long_zerocopy", json!("yes")),
            ("long_reads", json!("copy")),
            ("stages", json!([{"rpc_size": 1}])),
            ("stages", json!([{"hogs": -1}])),
        ] {
            let mut message = message.clone();
            message[field] = value;
            assert!(serde_json::from_value::<Load>(message).is_err(), "{field}");
        }
    }
}
