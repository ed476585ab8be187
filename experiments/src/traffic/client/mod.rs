//! The driving side: opens the connections, warms up, measures, drains, and reports what it saw.

mod connect;
mod crew;
mod long;
mod phase;
mod report;
mod rpc;
mod tcp_info;

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, value_parser};

use super::long::{Demand, Direction, MAX_CHUNK};
use super::units::{Rate, Seconds, Size};
use super::wire;
use connect::Connections;
use crew::Crew;
pub(crate) use report::{ClientReport, decode_histogram};

/// Flags of `steer-bench client`.
#[derive(Debug, Args)]
pub(crate) struct ClientArgs {
    /// Host the server runs on: a name or an address.
    #[arg(long, value_name = "ADDR")]
    server: String,
    /// Port of the server's long-flow sink.
    #[arg(long, value_name = "PORT", default_value_t = wire::LONG_PORT)]
    long_port: u16,
    /// Port of the server that long flows come from.
    #[arg(long, value_name = "PORT", default_value_t = wire::LONG_OUT_PORT)]
    long_out_port: u16,
    /// Port of the server's RPC service.
    #[arg(long, value_name = "PORT", default_value_t = wire::RPC_PORT)]
    rpc_port: u16,
    /// Long flows.
    #[arg(long, value_name = "N", default_value_t = 2)]
    #[arg(value_parser = value_parser!(u16).range(0..=1000))]
    long_flows: u16,
    /// Which way they go.
    #[arg(long, value_name = "WAY", value_enum, default_value_t)]
    long_direction: Direction,
    /// Send them without copying (MSG_ZEROCOPY), and count what the kernel copied all the same.
    #[arg(long)]
    long_zerocopy: bool,
    /// Rate of each long flow (like 40Mbit); 0 or max for unlimited.
    #[arg(long, value_name = "RATE", default_value = "max")]
    long_rate: Rate,
    /// Bytes of a long flow that are due at a time.
    #[arg(long, value_name = "SIZE", default_value = "256KiB", value_parser = chunk)]
    long_chunk: Size,
    /// RPC connections, each with one request outstanding at any time.
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = value_parser!(u16).range(0..=10_000))]
    rpc_connections: u16,
    /// Bytes of every request and every reply.
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = message)]
    rpc_size: Size,
    /// Client threads that share the RPC connections [default: the cores, at most 4].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    rpc_threads: Option<u16>,
    /// Seconds of traffic before anything is counted.
    #[arg(long, value_name = "SECONDS", default_value = "2")]
    warmup: Seconds,
    /// Seconds of traffic that are counted.
    #[arg(long, value_name = "SECONDS", default_value = "8", value_parser = Seconds::positive)]
    duration: Seconds,
    /// Fix the source ports: long flow i uses PORT+i, RPC connection j uses PORT+1000+j, so that
    /// two runs meet the same receive hash [default: the kernel chooses].
    #[arg(long, value_name = "PORT", value_parser = value_parser!(u16).range(1..))]
    source_port: Option<u16>,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

fn chunk(text: &str) -> Result<Size, String> {
    at_most(text, MAX_CHUNK)
}

fn message(text: &str) -> Result<Size, String> {
    at_most(text, wire::MAX_MESSAGE)
}

fn at_most(text: &str, max: u64) -> Result<Size, String> {
    let size: Size = text.parse()?;
    if size.bytes() > max { Err(format!("at most {max} bytes")) } else { Ok(size) }
}

impl ClientArgs {
    /// Checks what the flags' types cannot.
    fn check(&self) -> Result<()> {
        ensure!(
            self.long_flows > 0 || self.rpc_connections > 0,
            "nothing to do: --long-flows and --rpc-connections are both 0"
        );
        ensure!(
            !self.long_zerocopy || self.long_direction == Direction::In,
            "--long-zerocopy is for the sender: with --long-direction out give it to the server"
        );
        let demand = Demand::new(self.long_rate, self.long_chunk.bytes(), Duration::ZERO);
        demand.context("--long-rate and --long-chunk")?;
        Ok(())
    }
}

/// Drives the traffic and prints the result, partial when a connection failed on the way.
///
/// # Errors
/// When the server cannot be reached, or when any connection failed during the run.
pub(crate) fn run(args: ClientArgs) -> Result<()> {
    args.check()?;
    let connections = Connections::open(&args)?;
    let report = Crew::start(&args, connections)?.measure(&args);
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{report}");
    }
    match report.errors.as_slice() {
        [] => Ok(()),
        [only] => bail!("the run is incomplete: {only}"),
        [first, rest @ ..] => bail!("the run is incomplete: {first} (and {} more)", rest.len()),
    }
}
