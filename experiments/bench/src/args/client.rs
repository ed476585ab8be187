//! The flags of `steer-bench client`.

use clap::{Args, value_parser};
use steer_ground::units::{Rate, Seconds, Size};
use steer_ground::word::Word;
use steer_traffic::client::{ClientOptions, MOST_LONG, MOST_RATE, MOST_RPC, Protocol};
use steer_traffic::long::{Direction, MAX_CHUNK};
use steer_traffic::stage::Stage;
use steer_traffic::{LONG_OUT_PORT, LONG_PORT, MAX_MESSAGE, RPC_PORT};

use super::choice::{choice, way};

/// Flags of `steer-bench client`.
#[derive(Debug, Args)]
pub(crate) struct ClientArgs {
    /// Host that the server runs on: a name or an address. If several are given, separated by
    /// commas, connections go to them in turns.
    #[arg(long, value_name = "ADDR", value_delimiter = ',', required = true)]
    pub(crate) server: Vec<String>,
    /// Port of the server's long-flow sink.
    #[arg(long, value_name = "PORT", default_value_t = LONG_PORT)]
    pub(crate) long_port: u16,
    /// Port of the server that long flows come from.
    #[arg(long, value_name = "PORT", default_value_t = LONG_OUT_PORT)]
    pub(crate) long_out_port: u16,
    /// Port of the server's RPC service.
    #[arg(long, value_name = "PORT", default_value_t = RPC_PORT)]
    pub(crate) rpc_port: u16,
    /// Long flows.
    #[arg(long, value_name = "N", default_value_t = 2)]
    #[arg(value_parser = value_parser!(u16).range(0..=i64::from(MOST_LONG)))]
    pub(crate) long_flows: u16,
    /// Direction of the long flows.
    #[arg(long, value_name = "WAY", value_parser = choice(way), default_value = Direction::default().word())]
    pub(crate) long_direction: Direction,
    /// Send long flows without copying (MSG_ZEROCOPY), and count the sends that the kernel copied
    /// anyway.
    #[arg(long)]
    pub(crate) long_zerocopy: bool,
    /// Rate of each long flow, like 40Mbit; 0 or max for unlimited.
    #[arg(long, value_name = "RATE", default_value = "max")]
    pub(crate) long_rate: Rate,
    /// Bytes of a long flow that become due at once.
    #[arg(long, value_name = "SIZE", default_value = "256KiB", value_parser = chunk)]
    pub(crate) long_chunk: Size,
    /// RPC connections. Each has at most one request outstanding. Every 4000 connections to one
    /// address of --server use their own port there.
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = value_parser!(u32).range(0..=i64::from(MOST_RPC)))]
    pub(crate) rpc_connections: u32,
    /// RPCs per second of all connections together. Connections ask in turns, evenly spread, and
    /// are idle in between. A connection that still waits for its reply misses its turn. Latency
    /// counts from when a request is due, even if it is sent late. 0: each connection asks as soon
    /// as it has its reply.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = value_parser!(u32).range(0..=MOST_RATE))]
    pub(crate) rpc_rate: u32,
    /// Bytes of every request and every reply. With other servers, bytes of the value or file.
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = message)]
    pub(crate) rpc_size: Size,
    /// Which server listens on --rpc-port.
    #[arg(long, value_name = "PROTOCOL", value_parser = choice(protocol), default_value = Protocol::default().word())]
    pub(crate) rpc_protocol: Protocol,
    /// Servers of that protocol, on --rpc-port and the ports that follow. RPC connections go to them
    /// in turns.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) rpc_instances: u16,
    /// Client threads that share the RPC connections [default: number of cores, at most 4]. If the
    /// limit of open files is too low, more threads are started, each with its own limit.
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) rpc_threads: Option<u16>,
    /// A stage of a shifting load. The stages divide the counted seconds evenly. Each has its own
    /// number of long flows or RPC connections, like "long-flows=0 rpc-connections=32". The other
    /// flags set the numbers that a stage leaves out. Repeat for each stage.
    #[arg(long = "stage", value_name = "STAGE")]
    pub(crate) stages: Vec<Stage>,
    /// Seconds for opening the connections. Time left over is added to the warm-up, so that the
    /// counted seconds begin at a known moment [default: as long as it takes, but at most 15 s plus
    /// 1 s for every 1000 connections].
    #[arg(long, value_name = "SECONDS", value_parser = Seconds::positive)]
    pub(crate) connect_within: Option<Seconds>,
    /// Seconds of traffic before anything is counted.
    #[arg(long, value_name = "SECONDS", default_value = "2")]
    pub(crate) warmup: Seconds,
    /// Seconds of counted traffic.
    #[arg(long, value_name = "SECONDS", default_value = "8", value_parser = Seconds::positive)]
    pub(crate) duration: Seconds,
    /// First source port. Fixed source ports give two runs the same receive hash. For each address
    /// of --server, long flow i uses PORT+i, and RPC connection j uses PORT+1000+(j mod 4000)
    /// [default: the kernel chooses].
    #[arg(long, value_name = "PORT", value_parser = value_parser!(u16).range(1..))]
    pub(crate) source_port: Option<u16>,
    /// Print the result as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

impl From<ClientArgs> for ClientOptions {
    fn from(args: ClientArgs) -> Self {
        let ClientArgs {
            server,
            long_port,
            long_out_port,
            rpc_port,
            long_flows,
            long_direction,
            long_zerocopy,
            long_rate,
            long_chunk,
            rpc_connections,
            rpc_rate,
            rpc_size,
            rpc_protocol,
            rpc_instances,
            rpc_threads,
            stages,
            connect_within,
            warmup,
            duration,
            source_port,
            json,
        } = args;
        Self {
            server,
            long_port,
            long_out_port,
            rpc_port,
            long_flows,
            long_direction,
            long_zerocopy,
            long_rate,
            long_chunk,
            rpc_connections,
            rpc_rate,
            rpc_size,
            rpc_protocol,
            rpc_instances,
            rpc_threads,
            stages,
            connect_within,
            warmup,
            duration,
            source_port,
            json,
        }
    }
}

/// Describes a protocol, for the help.
fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Own => "`steer-bench server`: requests and replies of the same size",
        Protocol::Memcached => {
            "memcached: each connection sets a value of that size, then gets it (text protocol)"
        }
        Protocol::Redis => "redis: each connection sets a value of that size, then gets it",
        Protocol::Http => "A web server: each connection gets the file /rpc, which has that size",
    }
}

fn chunk(text: &str) -> Result<Size, String> {
    at_most(text, MAX_CHUNK)
}

fn message(text: &str) -> Result<Size, String> {
    at_most(text, MAX_MESSAGE)
}

fn at_most(text: &str, max: u64) -> Result<Size, String> {
    let size: Size = text.parse()?;
    if size.bytes() > max { Err(format!("at most {max} bytes")) } else { Ok(size) }
}
