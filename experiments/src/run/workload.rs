//! The workload of the runs: its flags, and the command lines they become.

mod stages;

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Error, Result, ensure};
use clap::builder::ArgPredicate;
use clap::{Args, ValueEnum, value_parser};

use super::layout::Layout;
use super::rpc_tool::{Calls, Needed, RpcTool, Server};
use crate::lab::facts::joined;
use crate::result;
use crate::traffic::client::MOST_RPC;
use crate::traffic::load::Load;
use crate::traffic::long::{Direction, Reads, word};
use crate::traffic::stage::{self, Stage};
use crate::traffic::units::{Rate, Size};

/// Connections up to which it is no matter how long opening them takes.
const FEW: u32 = 1000;
/// Seconds for opening more, and how many open in each second beyond: planned with room to spare, as an
/// emulated guest took 1700 of 100,000 in one on an idle machine with two cores.
const OPEN_S: u32 = 10;
const OPEN_PER_S: u32 = 1000;
/// First port of the iperf3 servers, one per long flow.
const IPERF_PORT: u16 = 5301;
const IPERF: &[Needed] = &[Needed { program: "iperf3", how: "apt install iperf3", in_guest: true }];

/// Traffic, and what runs beside it; the same in every arm.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkloadArgs {
    /// Long flows.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(super) long_flows: u16,
    /// Rate of each. Unlimited flows make the emulator's noise drown every difference; with --agent
    /// they are the default.
    #[arg(long, value_name = "RATE", default_value = "40Mbit")]
    #[arg(default_value_if("agent", ArgPredicate::IsPresent, "max"))]
    long_rate: String,
    /// Program that sends and receives the long flows.
    #[arg(long, value_name = "TOOL", default_value = "builtin")]
    long_tool: LongTool,
    /// Which way the long flows go.
    #[arg(long, value_name = "WAY", value_enum, default_value_t)]
    long_direction: Direction,
    /// What the measured machine does with the payload of long flows that come in.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    long_reads: Reads,
    /// Send the long flows without copying them (MSG_ZEROCOPY).
    #[arg(long)]
    long_zerocopy: bool,
    /// Whether the server says where its long-flow threads run.
    #[arg(skip)]
    pub(super) trace_long: bool,
    /// RPC connections, each with one request outstanding; up to 300000, which need memory in the guest
    /// (--node-memory).
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = value_parser!(u32).range(0..=i64::from(MOST_RPC)))]
    rpc_connections: u32,
    /// RPCs per second of all connections together, which ask in turns and are idle between them; latency
    /// counts from when a request is due. 0: each asks as soon as it has its reply.
    #[arg(long, value_name = "N", default_value_t = 0)]
    rpc_rate: u32,
    /// Bytes of every request and reply.
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    rpc_size: String,
    /// Programs that serve the RPCs and ask for them. Of redis, nginx and memcached a value or a file of
    /// the size is asked for.
    #[arg(long, value_name = "TOOL", value_enum, default_value_t)]
    pub(super) rpc_tool: RpcTool,
    /// Threads on the measured machine that share the RPC connections: instances of redis, workers of
    /// nginx, threads of memcached.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    rpc_threads: u16,
    /// Leave out the hogs, one spinning thread per NUMA node.
    #[arg(long)]
    no_hogs: bool,
    /// Let the load shift within each sample, which then consists of equal parts, each with its own
    /// number of long flows, RPC connections, or hogs per NUMA node, like "long-flows=0
    /// rpc-connections=32 hogs=2". What a stage leaves out is as the other flags say; the warm-up is
    /// as the first. Repeat for each stage.
    #[arg(long = "stage", value_name = "STAGE")]
    stages: Vec<Stage>,
    /// Seconds of traffic before each sample, at the least.
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    warmup: u32,
    /// Seconds of each sample.
    #[arg(long, value_name = "SECONDS", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=600))]
    duration: u32,
}

/// Who sends the long flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LongTool {
    /// This program.
    Builtin,
    /// iperf3, as a second opinion.
    Iperf3,
}

impl WorkloadArgs {
    /// Checks what the flags' types cannot.
    ///
    /// # Errors
    /// Names flags that do not go together.
    pub(super) fn check(&self) -> Result<()> {
        let reads_as_ever = self.long_reads == Reads::default();
        ensure!(
            self.long_tool == LongTool::Builtin
                || reads_as_ever && self.long_direction == Direction::In && !self.long_zerocopy,
            "--long-tool iperf3 sends and reads in its own way, to the measured machine: leave out \
             --long-direction, --long-reads and --long-zerocopy"
        );
        ensure!(
            reads_as_ever || self.long_direction == Direction::In,
            "--long-reads is about the measured machine, which reads nothing with --long-direction \
             out: leave out one of them"
        );
        ensure!(
            self.rpc_rate == 0 || self.rpc_tool.is_asked_by_us(),
            "--rpc-rate: redis-benchmark and wrk ask without a pause: leave out --rpc-tool"
        );
        self.size()?;
        self.check_stages()
    }

    /// Checks that no other program than this one is to send or serve.
    ///
    /// # Errors
    /// Names the flags that say otherwise, and `who` it is that cannot do it.
    pub(super) fn check_own(&self, who: &str) -> Result<()> {
        ensure!(
            self.long_tool == LongTool::Builtin && self.rpc_tool == RpcTool::Builtin,
            "{who} drives traffic with steer-bench alone: leave out --long-tool and --rpc-tool"
        );
        Ok(())
    }

    /// Checks that the server can say of all long flows, from begin to end, where they run.
    ///
    /// # Errors
    /// Names the flags that keep it from that.
    pub(super) fn check_traced(&self) -> Result<()> {
        ensure!(
            self.long_flows > 0 && self.long_direction == Direction::In && self.stages.is_empty(),
            "only long flows that come in all the time are traced: have some with --long-flows, \
             and leave out --long-direction and --stage"
        );
        Ok(())
    }

    /// Programs that have to be installed.
    pub(super) fn needs(&self) -> impl Iterator<Item = &'static Needed> {
        let iperf = if self.long_tool == LongTool::Iperf3 { IPERF } else { &[] };
        iperf.iter().chain(self.rpc_tool.needs())
    }

    /// The RPCs that another program than our server serves.
    ///
    /// # Errors
    /// When the size is none.
    pub(super) fn calls(&self) -> Result<Option<Calls>> {
        let calls = Calls {
            connections: self.rpc_connections,
            size: self.size()?.bytes(),
            threads: self.rpc_threads,
        };
        let other = self.rpc_tool != RpcTool::Builtin && calls.connections > 0;
        Ok(other.then_some(calls))
    }

    /// The servers of these RPCs.
    ///
    /// # Errors
    /// As [`Self::calls`].
    pub(super) fn rpc_servers(&self, pinned: bool, layout: &Layout) -> Result<Vec<Server>> {
        let calls = self.calls()?;
        Ok(calls.map_or_else(Vec::new, |calls| self.rpc_tool.servers(calls, pinned, layout)))
    }

    fn size(&self) -> Result<Size> {
        self.rpc_size.parse().map_err(Error::msg).context("--rpc-size")
    }

    /// Traffic before the sample, at the least.
    pub(super) fn warmup(&self) -> Duration {
        Duration::from_secs(self.warmup.into())
    }

    /// The sample.
    pub(super) fn duration(&self) -> Duration {
        Duration::from_secs(self.duration.into())
    }

    /// The server on the measured machine.
    pub(super) fn server(&self, pinned: bool, layout: &Layout) -> Vec<String> {
        let mut argv = words("steer-bench server");
        argv.extend(words(&format!(
            "--bind {} --rpc-connections {} --rpc-threads {}",
            layout.address,
            self.most_rpc(),
            self.rpc_threads
        )));
        argv.push(format!("--long-reads={}", word(&self.long_reads)));
        if self.long_zerocopy && self.long_direction == Direction::Out {
            argv.push("--long-zerocopy".to_owned());
        }
        if self.trace_long {
            argv.push("--trace-long".to_owned());
        }
        if pinned {
            let (long, rpc) = (joined(&layout.long_cpus), joined(&layout.rpc_cpus));
            argv.extend(words(&format!("--pin-long {long} --pin-rpc {rpc}")));
        }
        argv
    }

    /// The iperf3 servers in the guest, one per long flow.
    pub(super) fn iperf_servers(&self, pinned: bool, layout: &Layout) -> Vec<Vec<String>> {
        let server = |flow: u16| {
            let mut argv =
                words(&format!("iperf3 --server --forceflush --port {}", IPERF_PORT + flow));
            if pinned {
                let cpu = layout.long_cpus[usize::from(flow) % layout.long_cpus.len()];
                argv.extend(words(&format!("--affinity {cpu}")));
            }
            argv
        };
        self.iperf_flows().map(server).collect()
    }

    /// RPC connections that are open at a time.
    pub(super) fn most_rpc(&self) -> u32 {
        let numbers =
            stage::numbers(&self.stages, self.rpc_connections, |stage| stage.rpc_connections);
        numbers.into_iter().max().unwrap_or_default()
    }

    /// Time for opening the connections, before the warm-up.
    pub(super) fn connecting(&self) -> Duration {
        let seconds = match self.most_rpc() {
            ..=FEW => 0,
            many => OPEN_S + many.div_ceil(OPEN_PER_S),
        };
        Duration::from_secs(seconds.into())
    }

    /// What our client does in the time `warmup` before the sample, connecting included, and in the
    /// sample. Its source ports decide which queues the flows meet.
    ///
    /// # Errors
    /// When the rate or the size is none.
    pub(super) fn load(&self, warmup: Duration, source_port: u16) -> Result<Load> {
        let rate: Rate = self.long_rate.parse().map_err(Error::msg).context("--long-rate")?;
        let long_flows = if self.long_tool == LongTool::Builtin { self.long_flows } else { 0 };
        let asks = self.rpc_tool.is_asked_by_us();
        let rpc_connections = if asks { self.rpc_connections } else { 0 };
        Ok(Load {
            long_flows,
            long_rate: rate.bits_per_s(),
            long_direction: self.long_direction,
            long_zerocopy: self.long_zerocopy && self.long_direction == Direction::In,
            rpc_connections,
            rpc_rate: self.rpc_rate,
            rpc_size: self.size()?.bytes(),
            stages: self.traffic_stages(long_flows, rpc_connections),
            connect_s: self.connecting().as_secs_f64(),
            warmup_s: warmup.saturating_sub(self.connecting()).as_secs_f64(),
            duration_s: self.duration.into(),
            source_port,
        })
    }

    /// The iperf3 clients on the host, whose flows go to the guest's addresses in turns.
    pub(super) fn iperf_clients(
        &self,
        guests: &[IpAddr],
        warmup: Duration,
        source_port: u16,
    ) -> Vec<Vec<String>> {
        // iperf3 knows K, M and G; ours are spelled out.
        let rate = self.long_rate.trim_end_matches("bit").trim_end_matches("bps");
        let client = |flow: u16| {
            words(&format!(
                "iperf3 --client {} --port {} --cport {} --bitrate {rate} --length 256K \
                 --omit {} --time {} --json",
                guests[usize::from(flow) % guests.len()],
                IPERF_PORT + flow,
                source_port + flow,
                // iperf3 takes whole seconds only.
                warmup.as_secs_f64().round(),
                self.duration
            ))
        };
        self.iperf_flows().map(client).collect()
    }

    fn iperf_flows(&self) -> std::ops::Range<u16> {
        0..if self.long_tool == LongTool::Iperf3 { self.long_flows } else { 0 }
    }

    /// For the record.
    pub(super) fn describe(&self, layout: &Layout) -> result::Workload {
        result::Workload {
            long_flows: self.long_flows.into(),
            long_rate: self.long_rate.clone(),
            long_tool: match self.long_tool {
                LongTool::Builtin => "builtin".to_owned(),
                LongTool::Iperf3 => "iperf3".to_owned(),
            },
            long_direction: self.long_direction,
            long_reads: self.long_reads,
            long_zerocopy: self.long_zerocopy,
            rpc_connections: self.rpc_connections,
            rpc_rate: Some(self.rpc_rate).filter(|rate| *rate > 0),
            rpc_size: self.rpc_size.clone(),
            rpc_threads: self.rpc_threads.into(),
            rpc_tool: word(&self.rpc_tool),
            hogs: self.hog_sets(layout),
            stages: self.describe_stages(),
            warmup_s: self.warmup.into(),
            duration_s: self.duration.into(),
            ..result::Workload::default()
        }
    }
}

/// Splits a command line of which no argument holds a space.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
