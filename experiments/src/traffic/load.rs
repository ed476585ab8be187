//! What one run of the client does, as plain numbers: a runner starts a client of its own with it,
//! or sends it to the agent on another host.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::long::{Direction, word};
use super::stage::{self, Stage};

/// The traffic of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    /// Long flows.
    pub(crate) long_flows: u16,
    /// Bits per second of each; `None` for unlimited.
    pub(crate) long_rate: Option<u64>,
    /// Which way they go.
    pub(crate) long_direction: Direction,
    /// Whether the client sends them without copying.
    pub(crate) long_zerocopy: bool,
    /// RPC connections.
    pub(crate) rpc_connections: u32,
    /// RPCs per second of all connections together; 0 for as many as there are replies.
    pub(crate) rpc_rate: u32,
    /// Bytes of every request and every reply.
    pub(crate) rpc_size: u64,
    /// How the load shifts, if it does.
    pub(crate) stages: Vec<Stage>,
    /// Seconds for opening the connections, before the warm-up; 0 where that is no matter.
    pub(crate) connect_s: f64,
    /// Seconds of traffic before anything is counted.
    pub(crate) warmup_s: f64,
    /// Seconds of traffic that are counted.
    pub(crate) duration_s: f64,
    /// First source port; it decides which queues the flows meet.
    pub(crate) source_port: u16,
}

impl Load {
    /// Arguments of the `steer-bench` that does it; its own flags say what does not go
    /// together, and which numbers are too large.
    pub(crate) fn arguments(&self, servers: &[IpAddr]) -> Vec<String> {
        let servers: Vec<String> = servers.iter().map(IpAddr::to_string).collect();
        let rate = self.long_rate.map_or_else(|| "max".to_owned(), |bits| format!("{bits}bit"));
        let flags = [
            format!("--server={}", servers.join(",")),
            format!("--long-flows={}", self.long_flows),
            format!("--long-rate={rate}"),
            format!("--long-direction={}", word(&self.long_direction)),
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

    /// Whether there is no traffic in it.
    pub(crate) fn is_none(&self) -> bool {
        let long = stage::numbers(&self.stages, self.long_flows, |stage| stage.long_flows);
        let rpc = stage::numbers(&self.stages, self.rpc_connections, |stage| stage.rpc_connections);
        long.iter().all(|&flows| flows == 0) && rpc.iter().all(|&connections| connections == 0)
    }

    /// Connecting, warm-up and measured time together.
    ///
    /// # Errors
    /// When one of them is no span of time.
    pub(crate) fn length(&self) -> Result<Duration> {
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
    use crate::cli::Cli;
    use clap::Parser;
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
    fn the_client_has_the_flags_that_it_is_given() {
        for load in
            [load(Direction::In, false), load(Direction::In, true), load(Direction::Out, false)]
        {
            let arguments = load.arguments(&[1, 2].map(|last| [127, 0, 0, last].into()));
            let command = ["steer-bench".to_owned()].into_iter().chain(arguments);
            let parsed = Cli::try_parse_from(command).unwrap();
            let parsed = format!("{parsed:?}");
            let direction = format!("long_direction: {:?}", load.long_direction);
            let zerocopy = format!("long_zerocopy: {}", load.long_zerocopy);
            let stages = format!("stages: {:?}", load.stages);
            let rate = "rpc_rate: 2000".to_owned();
            let connect = "connect_within: Some(Seconds(3s))".to_owned();
            let servers = "server: [\"127.0.0.1\", \"127.0.0.2\"]".to_owned();
            for expected in [direction, zerocopy, stages, rate, connect, servers] {
                assert!(parsed.contains(&expected), "{parsed}");
            }
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
