//! The driving side: opens the connections, warms up, measures, drains, and reports what it saw.

mod connect;
mod crew;
mod long;
mod mark;
mod phase;
mod report;
mod rpc;
mod talk;
mod tcp_info;
mod turns;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, value_parser};
use indicatif::{ProgressBar, ProgressStyle};

use super::long::{Demand, Direction, MAX_CHUNK};
use super::stage::{self, Stage};
use super::units::{Rate, Seconds, Size};
use super::wire::{self, CONNECTIONS_PER_PORT};
use crew::Crew;
pub(crate) use mark::StageReport;
pub(crate) use report::{ClientReport, RpcReport, decode_histogram};
use talk::Protocol;

/// Most long flows, which have a thread each.
const MOST_LONG: u16 = 1000;
/// Most RPC connections.
pub(crate) const MOST_RPC: u32 = 300_000;
/// Most RPCs per second that may be asked for: turns of one connection are then still apart.
const MOST_RATE: i64 = 1_000_000;

/// Flags of `steer-bench client`.
#[derive(Debug, Args)]
pub(crate) struct ClientArgs {
    /// Host the server runs on: a name or an address. Where it has several, divided by commas,
    /// connections go to one after the other, in turns.
    #[arg(long, value_name = "ADDR", value_delimiter = ',', required = true)]
    server: Vec<String>,
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
    #[arg(value_parser = value_parser!(u16).range(0..=i64::from(MOST_LONG)))]
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
    /// RPC connections, each with one request outstanding at any time. Every 4000 of an address of
    /// --server have a port of their own there.
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = value_parser!(u32).range(0..=i64::from(MOST_RPC)))]
    rpc_connections: u32,
    /// RPCs per second of all connections together, which ask in turns, evenly spread, and are idle
    /// between them; one whose turn comes while its reply is still out misses it. Latency counts from
    /// when a request is due, be it sent late or not. 0: each asks as soon as it has its reply.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = value_parser!(u32).range(0..=MOST_RATE))]
    rpc_rate: u32,
    /// Bytes of every request and every reply; of memcached, of the value.
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = message)]
    rpc_size: Size,
    /// Who listens on --rpc-port.
    #[arg(long, value_name = "PROTOCOL", value_enum, default_value_t)]
    rpc_protocol: Protocol,
    /// Client threads that share the RPC connections [default: the cores, at most 4]; more, where the
    /// limit of open files, which each then has for itself, calls for it.
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    rpc_threads: Option<u16>,
    /// Let the load shift: the counted seconds are shared out evenly among stages, each of which has
    /// its own number of long flows or RPC connections, like "long-flows=0 rpc-connections=32". What
    /// it leaves out is as the other flags say. Repeat for each stage.
    #[arg(long = "stage", value_name = "STAGE")]
    stages: Vec<Stage>,
    /// Seconds for opening the connections; what is left of them becomes part of the warm-up, so that
    /// the counted seconds begin at a known moment [default: as long as it takes, at most 15 and one
    /// for every 1000 connections].
    #[arg(long, value_name = "SECONDS", value_parser = Seconds::positive)]
    connect_within: Option<Seconds>,
    /// Seconds of traffic before anything is counted.
    #[arg(long, value_name = "SECONDS", default_value = "2")]
    warmup: Seconds,
    /// Seconds of traffic that are counted.
    #[arg(long, value_name = "SECONDS", default_value = "8", value_parser = Seconds::positive)]
    duration: Seconds,
    /// Fix the source ports: long flow i of an address of --server uses PORT+i, RPC connection j uses
    /// PORT+1000+j (from 4000 on j-4000, and so on), so that two runs meet the same receive hash
    /// [default: the kernel chooses].
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
            "--stage: hogs are the measured machine's; `steer-bench hog` has stages of its own"
        );
        ensure!(
            self.long_direction == Direction::In && !self.long_zerocopy
                || !stage::shifts(&self.long_by_stage()),
            "--stage: long flows come and go only with --long-direction in and without \
             --long-zerocopy"
        );
        ensure!(
            !self.long_zerocopy || self.long_direction == Direction::In,
            "--long-zerocopy is for the sender: with --long-direction out give it to the server"
        );
        ensure!(
            self.rpc_protocol == Protocol::Own || self.most_rpc() <= CONNECTIONS_PER_PORT,
            "memcached listens on one port: at most {CONNECTIONS_PER_PORT} RPC connections to it"
        );
        let demand = Demand::new(self.long_rate, self.long_chunk.bytes(), Duration::ZERO);
        demand.context("--long-rate and --long-chunk")?;
        Ok(())
    }

    /// Long flows that go in each stage.
    fn long_by_stage(&self) -> Vec<u16> {
        stage::numbers(&self.stages, self.long_flows, |stage| stage.long_flows)
    }

    /// RPC connections that ask in each stage.
    fn rpc_by_stage(&self) -> Vec<u32> {
        stage::numbers(&self.stages, self.rpc_connections, |stage| stage.rpc_connections)
    }

    /// Long flows to open: all that go at any time.
    fn most_long(&self) -> u16 {
        self.long_by_stage().into_iter().max().unwrap_or_default()
    }

    /// From one turn of an RPC connection to its next; `None` where it asks as soon as it has its reply.
    fn think_time(&self) -> Option<Duration> {
        let all = Duration::from_secs(self.most_rpc().into());
        (self.rpc_rate > 0).then(|| all / self.rpc_rate)
    }

    /// RPC connections to open.
    fn most_rpc(&self) -> u32 {
        self.rpc_by_stage().into_iter().max().unwrap_or_default()
    }
}

/// Drives the traffic and prints the result, partial when a connection failed on the way.
///
/// # Errors
/// When the server cannot be reached, or when any connection failed during the run.
pub(crate) fn run(args: ClientArgs) -> Result<()> {
    args.check()?;
    let begun = Instant::now();
    let crew = Crew::start(&args)?;
    let planned = args.connect_within.map_or(Duration::ZERO, Seconds::duration);
    let warm_up = planned.saturating_sub(begun.elapsed()) + args.warmup.duration();
    let report = crew.measure(&args, warm_up);
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

/// A bar that draws nothing when stderr is no terminal.
fn progress_bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
