//! The flags of `steer-bench priced ab`: those of `steer-bench ab`, where the tier has them.

use std::path::PathBuf;

use anyhow::{Context, Error, Result};
use clap::{Args, CommandFactory, FromArgMatches, Parser, value_parser};
use steer_ground::word::Word;
use steer_lab::shape::{Nics, Shape};
use steer_lab::steering::Steering;
use steer_priced::ab::AbOptions;
use steer_result::spec::Options;
use steer_scenario::arm::Arm;
use steer_scenario::rpc_tool::RpcTool;
use steer_scenario::setup::Setup;
use steer_scenario::workload::{LongTool, Workload};
use steer_traffic::long::{Direction, Reads};

use super::ab::{self, mode};
use super::choice::choice;
use super::guest::nics;
use super::priced::{BenchArgs, ProgramArgs};
use super::workload::{long_tool, rpc_tool, rpc_work};

/// Flags of `steer-bench priced ab`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench priced ab
  steer-bench priced ab --machine epyc-7763 --steering auto,hash --seeds 5
  steer-bench priced ab --long-tool iperf3 --rpc-tool redis --nics first-node
  steer-bench priced ab --setup-guest 'ethtool -K eth0 gro off'
  steer-bench priced ab --arms default,scx_steer,simple=scx_simple --with /usr/bin/scx_simple")]
pub(crate) struct PricedAbArgs {
    /// The machine: a name in experiments/priced/machines, or a file that ends in .toml.
    #[arg(long, value_name = "NAME", default_value = "xeon-gold-6128")]
    machine: String,
    /// The measured CPUs: NUMA nodes x cores [x SMT threads]. One more node drives the traffic.
    #[arg(long, value_name = "SHAPE", default_value = "2x2")]
    shape: Shape,
    /// Measured NUMA nodes that have a NIC. With several NICs, connections use them in turns.
    #[arg(long, value_name = "NODES", value_parser = choice(nics), default_value = Nics::default().word())]
    nics: Nics,
    /// Queues of each NIC [default: one for each measured CPU].
    #[arg(long, value_name = "N")]
    queues: Option<usize>,
    /// What to compare: default, scx_steer, pinned, or NAME=COMMAND for another sched_ext
    /// scheduler. With +align after the name, `scx_steer nic apply --mode align` sets the NIC first.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "default,scx_steer,pinned"
    )]
    arms: Vec<Arm>,
    /// Steering modes to measure in: how the NIC and the guest choose the CPU for a packet.
    #[arg(long, value_name = "LIST", value_parser = choice(mode), value_delimiter = ',', default_value = "hash")]
    steering: Vec<Steering>,
    /// Runs of each arm in each steering mode. A run with the same seed repeats exactly.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Guests that boot for each arm in each steering mode; seeds are copies of them. Each boot lays
    /// out memory in its own way, which moves figures by some per cent. At most one for each seed.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u32).range(1..=1000))]
    boots: u32,
    /// The first seed. Seeds choose source ports, and move the run against the timer ticks.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u32).range(..=1_000_000))]
    first_seed: u32,
    /// Largest packet, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = value_parser!(u32).range(576..=9000))]
    mtu: u32,
    /// Number of long flows.
    #[arg(long, value_name = "N", default_value_t = 2)]
    long_flows: u16,
    /// Rate of each long flow, or max. Fixed rates compare schedulers at the same work.
    #[arg(long, value_name = "RATE", default_value = "4Gbit")]
    long_rate: String,
    /// Program that sends and receives the long flows.
    #[arg(long, value_name = "TOOL", value_parser = choice(long_tool), default_value = "builtin")]
    long_tool: LongTool,
    /// Server threads that share the long flows, as in Go and Java: each reads from whichever has
    /// data [default: a thread for each flow].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=256))]
    long_threads: Option<u16>,
    /// RPC connections, each with one request outstanding.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = value_parser!(u32).range(0..=1000))]
    rpc_connections: u32,
    /// RPCs per second of all connections together. 0: each asks as soon as it has its reply.
    #[arg(long, value_name = "N", default_value_t = 40_000)]
    rpc_rate: u32,
    /// Bytes of every request and reply.
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    rpc_size: String,
    /// Program that serves the RPCs. With redis, nginx and memcached, a request gets a value or a
    /// file of --rpc-size. This program sends the requests.
    #[arg(long, value_name = "TOOL", value_parser = choice(rpc_tool), default_value = RpcTool::default().word())]
    rpc_tool: RpcTool,
    /// Server threads that share the RPC connections. With redis, its instances; with nginx, its
    /// workers; with memcached, its threads.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u16).range(1..=256))]
    rpc_threads: u16,
    /// Bytes of its own 256 KiB of memory that a server thread reads and hashes before each reply,
    /// again and again if these are more. A service computes, too; 4 MiB take about a millisecond
    /// [default: it replies at once].
    #[arg(long, value_name = "SIZE")]
    rpc_work: Option<String>,
    /// Leave out the hogs. By default, a thread spins on each NUMA node.
    #[arg(long)]
    no_hogs: bool,
    /// Seconds of traffic before each sample, by the guest's clock.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1, value_parser = seconds)]
    warmup: f64,
    /// Seconds of each sample, by the guest's clock. A busy CPU takes one to two minutes for one.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2, value_parser = seconds)]
    duration: f64,
    /// A shell command to run in the guest before anything is measured, such as `ethtool -K eth0 gro
    /// off`. May be repeated. NICs are eth0 and eth1.
    #[arg(long, value_name = "COMMAND")]
    setup_guest: Vec<String>,
    /// The same at the other end of the cable; ethN is connected to peerN.
    #[arg(long, value_name = "COMMAND")]
    setup_peer: Vec<String>,
    #[command(flatten)]
    programs: ProgramArgs,
    /// Folder for result.json and report.html.
    #[arg(long, value_name = "DIR", default_value = "target/priced")]
    out: PathBuf,
    #[command(flatten)]
    bench: BenchArgs,
}

/// Seconds of a guest: at least 10 ms, at most a minute.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.01..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err("write seconds from 0.01 to 60".to_owned()),
    }
}

/// The flags, without the names of program and subcommand.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    args: PricedAbArgs,
}

/// What a command line asks for. The line starts after the subcommand's name.
///
/// # Errors
/// When a rate or a size cannot be read; names the flag.
pub(super) fn options(line: &[String]) -> Result<AbOptions> {
    let matches = Line::command().try_get_matches_from(line)?;
    let Line { args } = Line::from_arg_matches(&matches)?;
    args.options(ab::options(&Line::command(), &matches))
}

impl PricedAbArgs {
    /// What the flags ask for; `options` goes into the result.
    ///
    /// # Errors
    /// When a rate or a size cannot be read; names the flag.
    pub(super) fn options(self, options: Options) -> Result<AbOptions> {
        let programs = self.programs.all()?;
        let workload = Workload {
            long_flows: self.long_flows,
            long_rate: self.long_rate.parse().map_err(Error::msg).context("--long-rate")?,
            long_tool: self.long_tool,
            long_direction: Direction::default(),
            long_reads: Reads::default(),
            long_threads: self.long_threads,
            long_zerocopy: false,
            trace_long: false,
            rpc_connections: self.rpc_connections,
            rpc_rate: self.rpc_rate,
            rpc_size: self.rpc_size.parse().map_err(Error::msg).context("--rpc-size")?,
            rpc_tool: self.rpc_tool,
            own_client: true,
            rpc_threads: self.rpc_threads,
            rpc_work: rpc_work(self.rpc_work)?,
            no_hogs: self.no_hogs,
            stages: Vec::new(),
            warmup: 0,
            duration: 0,
        };
        Ok(AbOptions {
            machine: self.machine,
            shape: self.shape,
            nics: self.nics,
            queues: self.queues.unwrap_or_else(|| self.shape.cpus()),
            setup: Setup { setup_guest: self.setup_guest, setup_peer: self.setup_peer },
            arms: self.arms,
            worlds: self.steering,
            seeds: self.seeds,
            boots: self.boots,
            first_seed: self.first_seed,
            mtu: self.mtu,
            workload,
            warmup_s: self.warmup,
            duration_s: self.duration,
            programs,
            profile: false,
            out: self.out,
            options,
            bench: self.bench.into(),
        })
    }
}
