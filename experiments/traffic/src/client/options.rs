//! The options of one run of the client, and checks of how they combine.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::talk::Protocol;
use crate::long::{Demand, Direction};
use crate::stage::{self, Stage};
use crate::wire::CONNECTIONS_PER_PORT;
use steer_ground::units::{Rate, Seconds, Size};
use steer_ground::word::Word;

/// Most long flows. Each has its own thread.
pub const MOST_LONG: u16 = 1000;
/// Most RPC connections.
pub const MOST_RPC: u32 = 300_000;
/// Highest `--rpc-rate`: up to here, the turns of one connection still lie apart.
pub const MOST_RATE: i64 = 1_000_000;

/// The options of one run of the client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Hosts that the server runs on: names or addresses.
    pub server: Vec<String>,
    /// Port of the server's long-flow sink.
    pub long_port: u16,
    /// Port of the server that long flows come from.
    pub long_out_port: u16,
    /// Port of the server's RPC service.
    pub rpc_port: u16,
    /// Long flows.
    pub long_flows: u16,
    /// Direction of the long flows.
    pub long_direction: Direction,
    /// Send them without copying (MSG_ZEROCOPY), and count the sends that the kernel copied anyway.
    pub long_zerocopy: bool,
    /// Rate of each long flow (like 40Mbit); 0 or max for unlimited.
    pub long_rate: Rate,
    /// Bytes of a long flow that become due at once.
    pub long_chunk: Size,
    /// RPC connections. Each has at most one request outstanding.
    pub rpc_connections: u32,
    /// RPCs per second of all connections together. Connections take turns, evenly spread, and are
    /// idle in between. A connection that still waits for its reply misses its turn. 0: no limit.
    pub rpc_rate: u32,
    /// Bytes of every request and every reply. With other servers, bytes of the value or file.
    pub rpc_size: Size,
    /// Which server listens on --rpc-port.
    pub rpc_protocol: Protocol,
    /// Servers of that protocol, on --rpc-port and the ports that follow. RPC connections go to them
    /// in turns.
    pub rpc_instances: u16,
    /// Client threads that share the RPC connections. If the limit of open files is too low, more
    /// threads are started, each with its own limit.
    pub rpc_threads: Option<u16>,
    /// Stages of a shifting load. They divide the counted seconds evenly. Each has its own number
    /// of long flows or RPC connections, like "long-flows=0 rpc-connections=32".
    pub stages: Vec<Stage>,
    /// Seconds for opening the connections. Time left over is added to the warm-up, so that the
    /// counted seconds begin at a known moment.
    pub connect_within: Option<Seconds>,
    /// Seconds of traffic before anything is counted.
    pub warmup: Seconds,
    /// Seconds of counted traffic.
    pub duration: Seconds,
    /// First source port. Fixed source ports give two runs the same receive hash. For each address
    /// of --server, long flow i uses PORT+i and RPC connection j uses PORT+1000+(j mod 4000).
    pub source_port: Option<u16>,
    /// Print the result as one JSON object.
    pub json: bool,
}

impl ClientOptions {
    /// Checks how the options combine, which the types of the flags cannot.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.most_long() > 0 || self.most_rpc() > 0,
            "nothing to do: --long-flows and --rpc-connections are both 0"
        );
        stage::check(&self.stages)?;
        ensure!(
            self.most_long() <= MOST_LONG && self.most_rpc() <= MOST_RPC,
            "--stage: at most {MOST_LONG} long flows and {MOST_RPC} RPC connections"
        );
        ensure!(
            self.stages.iter().all(|stage| stage.hogs.is_none()),
            "--stage: hogs run on the measured machine; use the flag --stages of `steer-bench hog`"
        );
        ensure!(
            self.long_direction == Direction::In && !self.long_zerocopy
                || !stage::shifts(&self.long_by_stage()),
            "--stage: the number of long flows can only change with --long-direction in and without \
             --long-zerocopy"
        );
        ensure!(
            !self.long_zerocopy || self.long_direction == Direction::In,
            "--long-zerocopy applies to the sender: with --long-direction out, give it to the server"
        );
        ensure!(
            self.rpc_protocol == Protocol::Own || self.most_rpc() <= CONNECTIONS_PER_PORT,
            "--rpc-protocol {}: at most {CONNECTIONS_PER_PORT} RPC connections",
            self.rpc_protocol.word()
        );
        ensure!(
            self.rpc_protocol != Protocol::Own || self.rpc_instances == 1,
            "--rpc-instances: one `steer-bench server` serves all: leave it out, or set --rpc-protocol"
        );
        let demand = Demand::new(self.long_rate, self.long_chunk.bytes(), Duration::ZERO);
        demand.context("--long-rate and --long-chunk")?;
        Ok(())
    }

    /// Active long flows in each stage.
    pub(super) fn long_by_stage(&self) -> Vec<u16> {
        stage::numbers(&self.stages, self.long_flows, |stage| stage.long_flows)
    }

    /// Active RPC connections in each stage.
    pub(super) fn rpc_by_stage(&self) -> Vec<u32> {
        stage::numbers(&self.stages, self.rpc_connections, |stage| stage.rpc_connections)
    }

    /// Long flows to open: the most of any stage.
    pub(super) fn most_long(&self) -> u16 {
        self.long_by_stage().into_iter().max().unwrap_or_default()
    }

    /// Time from one turn of an RPC connection to its next. `None` if it asks as soon as it has its
    /// reply.
    pub(super) fn think_time(&self) -> Option<Duration> {
        let all = Duration::from_secs(self.most_rpc().into());
        (self.rpc_rate > 0).then(|| all / self.rpc_rate)
    }

    /// RPC connections to open: the most of any stage.
    pub(super) fn most_rpc(&self) -> u32 {
        self.rpc_by_stage().into_iter().max().unwrap_or_default()
    }
}
