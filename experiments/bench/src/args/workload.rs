//! The flags for the traffic, and for the work beside it.

use anyhow::{Context, Error, Result};
use clap::builder::ArgPredicate;
use clap::{Args, value_parser};
use steer_ground::spelled::Spelled;
use steer_ground::units::Size;
use steer_ground::word::Word;
use steer_scenario::rpc_tool::RpcTool;
use steer_scenario::workload::{LongTool, Workload};
use steer_traffic::client::MOST_RPC;
use steer_traffic::long::{Direction, Reads};
use steer_traffic::stage::Stage;

use super::choice::{choice, reads, way};

/// Traffic and the work beside it, the same in every arm.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkloadArgs {
    /// Number of long flows.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) long_flows: u16,
    /// Rate of each long flow, or max. In the lab, unlimited flows make the emulator's noise larger
    /// than any difference. With --agent, the default is max.
    #[arg(long, value_name = "RATE", default_value = "40Mbit")]
    #[arg(default_value_if("agent", ArgPredicate::IsPresent, "max"))]
    pub(crate) long_rate: String,
    /// Program that sends and receives the long flows.
    #[arg(long, value_name = "TOOL", value_parser = choice(long_tool), default_value = "builtin")]
    pub(crate) long_tool: LongTool,
    /// Direction of the long flows.
    #[arg(long, value_name = "WAY", value_parser = choice(way), default_value = Direction::default().word())]
    pub(crate) long_direction: Direction,
    /// What the measured machine does with the payload of incoming long flows.
    #[arg(long, value_name = "HOW", value_parser = choice(reads), default_value = Reads::default().word())]
    pub(crate) long_reads: Reads,
    /// Threads on the measured machine that share the incoming long flows, as in Go and Java: each
    /// reads from whichever has data [default: a thread for each flow].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) long_threads: Option<u16>,
    /// Send the long flows without copying them (MSG_ZEROCOPY).
    #[arg(long)]
    pub(crate) long_zerocopy: bool,
    /// RPC connections, up to 300000, each with one request outstanding. Many of them need memory
    /// in the guest (--node-memory).
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = value_parser!(u32).range(0..=i64::from(MOST_RPC)))]
    pub(crate) rpc_connections: u32,
    /// RPCs per second of all connections together. Connections ask in turns, and are idle in
    /// between. Latency counts from when a request is due. 0: each connection asks as soon as it
    /// has its reply.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) rpc_rate: u32,
    /// Bytes of every request and reply.
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub(crate) rpc_size: String,
    /// Programs that serve the RPCs and send the requests. With redis, nginx and memcached, a
    /// request gets a value or a file of --rpc-size. With --rpc-rate, this program sends them to
    /// redis and nginx, too: their tools cannot pause.
    #[arg(long, value_name = "TOOL", value_parser = choice(rpc_tool), default_value = RpcTool::default().word())]
    pub(crate) rpc_tool: RpcTool,
    /// Threads on the measured machine that share the RPC connections. With redis, its instances;
    /// with nginx, its workers; with memcached, its threads.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) rpc_threads: u16,
    /// Bytes of its own 256 KiB of memory that a server thread reads and hashes before each reply,
    /// again and again if these are more. A service computes, too; 4 MiB take about a millisecond
    /// [default: it replies at once].
    #[arg(long, value_name = "SIZE")]
    pub(crate) rpc_work: Option<String>,
    /// Leave out the hogs (one spinning thread per NUMA node).
    #[arg(long)]
    pub(crate) no_hogs: bool,
    /// A stage of a shifting load. The stages divide each sample into equal parts. Each has its own
    /// number of long flows, RPC connections, or hogs per NUMA node, like "long-flows=0
    /// rpc-connections=32 hogs=2". The other flags set the numbers that a stage leaves out. The
    /// warm-up has the load of the first stage. Repeat for each stage.
    #[arg(long = "stage", value_name = "STAGE")]
    pub(crate) stages: Vec<Stage>,
    /// Seconds of traffic before each sample, or more.
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub(crate) warmup: u32,
    /// Seconds of each sample.
    #[arg(long, value_name = "SECONDS", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) duration: u32,
}

impl TryFrom<WorkloadArgs> for Workload {
    type Error = Error;

    /// Fails if the rate or the size cannot be parsed. The error names the flag.
    fn try_from(args: WorkloadArgs) -> Result<Self> {
        Ok(Self {
            long_flows: args.long_flows,
            long_rate: args.long_rate.parse().map_err(Error::msg).context("--long-rate")?,
            long_tool: args.long_tool,
            long_direction: args.long_direction,
            long_reads: args.long_reads,
            long_threads: args.long_threads,
            long_zerocopy: args.long_zerocopy,
            trace_long: false,
            rpc_connections: args.rpc_connections,
            rpc_rate: args.rpc_rate,
            rpc_size: args.rpc_size.parse().map_err(Error::msg).context("--rpc-size")?,
            rpc_tool: args.rpc_tool,
            own_client: false,
            rpc_threads: args.rpc_threads,
            rpc_work: rpc_work(args.rpc_work)?,
            no_hogs: args.no_hogs,
            stages: args.stages,
            warmup: args.warmup,
            duration: args.duration,
        })
    }
}

/// The work for each RPC.
///
/// # Errors
/// When it cannot be read; names the flag.
pub(super) fn rpc_work(text: Option<String>) -> Result<Option<Spelled<Size>>> {
    text.map(|text| text.parse()).transpose().map_err(Error::msg).context("--rpc-work")
}

/// Describes the programs for long flows, for the help.
pub(super) fn long_tool(tool: LongTool) -> &'static str {
    match tool {
        LongTool::Builtin => "This program",
        LongTool::Iperf3 => "iperf3, as a second opinion",
    }
}

/// Describes the programs for RPCs, for the help.
pub(super) fn rpc_tool(tool: RpcTool) -> &'static str {
    match tool {
        RpcTool::Builtin => "This program does both",
        RpcTool::Redis => "Instances of redis (GET), asked by redis-benchmark where no rate is set",
        RpcTool::Nginx => "nginx (GET), asked by wrk where no rate is set",
        RpcTool::Memcached => "memcached (get), always asked by this program",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        /// The default of the rate depends on it.
        #[arg(long)]
        agent: bool,
        #[command(flatten)]
        args: WorkloadArgs,
    }

    fn workload(flags: &[&str]) -> Result<Workload> {
        let Line { agent: _, args } = Line::try_parse_from(flags).unwrap();
        args.try_into()
    }

    #[test]
    fn rates_and_sizes_keep_how_they_were_written() {
        let found = workload(&["--long-rate=1Gbit", "--rpc-size=16KiB"]).unwrap();
        assert_eq!(found.long_rate.value.bits_per_s(), Some(1_000_000_000));
        assert_eq!(
            (found.long_rate.text.as_str(), found.rpc_size.text.as_str()),
            ("1Gbit", "16KiB")
        );
        assert_eq!(found.rpc_size.value.bytes(), 16 << 10);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for flag in ["--long-rate", "--rpc-size", "--rpc-work"] {
            let error = workload(&[&format!("{flag}=much")]).unwrap_err();
            assert_eq!(error.to_string(), flag);
        }
    }
}
