//! The flags of `steer-bench server`.

use std::net::{IpAddr, Ipv4Addr};

use clap::{Args, value_parser};
use steer_ground::cpus::CpuList;
use steer_ground::units::Size;
use steer_ground::word::Word;
use steer_traffic::long::Reads;
use steer_traffic::server::ServerOptions;
use steer_traffic::{LONG_OUT_PORT, LONG_PORT, RPC_PORT};

use super::choice::{choice, reads};

/// Flags of `steer-bench server`.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED))]
    pub(crate) bind: IpAddr,
    /// Port of the long-flow sink.
    #[arg(long, value_name = "PORT", default_value_t = LONG_PORT)]
    pub(crate) long_port: u16,
    /// Port that sends long flows to clients that ask for them.
    #[arg(long, value_name = "PORT", default_value_t = LONG_OUT_PORT)]
    pub(crate) long_out_port: u16,
    /// What to do with the payload of incoming long flows.
    #[arg(long, value_name = "HOW", value_parser = choice(reads), default_value = Reads::default().word())]
    pub(crate) long_reads: Reads,
    /// Threads that share the incoming long flows, as in Go and Java: each reads from whichever has
    /// data [default: a thread for each flow].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    #[arg(conflicts_with = "trace_long")]
    pub(crate) long_threads: Option<u16>,
    /// Send long flows without copying them (MSG_ZEROCOPY), and print at the end how many sends the
    /// kernel copied anyway.
    #[arg(long)]
    pub(crate) long_zerocopy: bool,
    /// For each incoming long flow, print the CPU that its thread runs on and the CPU that its
    /// packets arrive on, at every change: `trace THREAD MILLISECONDS CPU PACKETS-ON`, by the
    /// monotonic clock.
    #[arg(long)]
    pub(crate) trace_long: bool,
    /// Port of the RPC service.
    #[arg(long, value_name = "PORT", default_value_t = RPC_PORT)]
    pub(crate) rpc_port: u16,
    /// Expected number of RPC connections. Every 4000 share a port. The second port is 6801 above
    /// --rpc-port, and the others follow it.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) rpc_connections: u32,
    /// Threads that share the RPC connections.
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) rpc_threads: u16,
    /// Bytes of its own 256 KiB of memory that a thread reads and hashes before each reply, again and
    /// again if these are more [default: it replies at once].
    #[arg(long, value_name = "SIZE")]
    pub(crate) rpc_work: Option<Size>,
    /// Pin each thread of the long flows to one of these CPUs, in turns.
    #[arg(long, value_name = "LIST")]
    pub(crate) pin_long: Option<CpuList>,
    /// Pin every RPC thread to this set of CPUs.
    #[arg(long, value_name = "LIST")]
    pub(crate) pin_rpc: Option<CpuList>,
}

impl From<ServerArgs> for ServerOptions {
    fn from(args: ServerArgs) -> Self {
        let ServerArgs {
            bind,
            long_port,
            long_out_port,
            long_reads,
            long_threads,
            long_zerocopy,
            trace_long,
            rpc_port,
            rpc_connections,
            rpc_threads,
            rpc_work,
            pin_long,
            pin_rpc,
        } = args;
        Self {
            bind,
            long_port,
            long_out_port,
            long_reads,
            long_threads,
            long_zerocopy,
            trace_long,
            rpc_port,
            rpc_connections,
            rpc_threads,
            rpc_work,
            pin_long,
            pin_rpc,
        }
    }
}
