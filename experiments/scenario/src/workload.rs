//! The workload of the runs, and the command lines of its programs.

mod stages;

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use steer_ground::word::Word;

use super::layout::Layout;
use super::rpc_tool::{Calls, Needed, RpcTool, Server};
use steer_ground::cpus::joined;
use steer_ground::spelled::Spelled;
use steer_ground::text::words;
use steer_ground::units::{Rate, Size};

use steer_traffic::load::Load;
use steer_traffic::long::{Direction, Reads};
use steer_traffic::stage;
use steer_traffic::stage::Stage;

/// Up to this many connections, the time to open them does not matter.
const FEW: u32 = 1000;
/// Seconds for opening more connections, and how many each further second adds. This has room to
/// spare: an emulated guest on an idle machine with two cores opened 1700 of 100,000 per second.
const OPEN_S: u32 = 10;
const OPEN_PER_S: u32 = 1000;
/// First port of the iperf3 servers, one per long flow.
const IPERF_PORT: u16 = 5301;
const IPERF: &[Needed] = &[Needed { program: "iperf3", how: "apt install iperf3", in_guest: true }];

/// The traffic, and the programs beside it. It is the same in every arm.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Long flows.
    pub long_flows: u16,
    /// Rate of each long flow.
    pub long_rate: Spelled<Rate>,
    /// Program that sends and receives the long flows.
    pub long_tool: LongTool,
    /// Direction of the long flows.
    pub long_direction: Direction,
    /// What the measured machine does with the payload of incoming long flows.
    pub long_reads: Reads,
    /// Threads on the measured machine that share the incoming long flows; else each has one.
    pub long_threads: Option<u16>,
    /// Whether long flows are sent without a copy (MSG_ZEROCOPY).
    pub long_zerocopy: bool,
    /// Whether the server prints where its long-flow threads run.
    pub trace_long: bool,
    /// RPC connections. Each has one request outstanding.
    pub rpc_connections: u32,
    /// RPCs per second of all connections together. 0: each asks as soon as it has its reply.
    pub rpc_rate: u32,
    /// Bytes of every request and reply.
    pub rpc_size: Spelled<Size>,
    /// Programs that serve and drive the RPCs.
    pub rpc_tool: RpcTool,
    /// Whether our client drives the RPCs, whatever serves them. It does so as well where no load
    /// tool can.
    pub own_client: bool,
    /// Threads on the measured machine that share the RPC connections: instances of redis,
    /// workers of nginx, threads of memcached.
    pub rpc_threads: u16,
    /// Bytes of its own memory that our server's thread reads and hashes for each RPC.
    pub rpc_work: Option<Spelled<Size>>,
    /// Whether to leave out the hogs. By default, each NUMA node has one spinning thread.
    pub no_hogs: bool,
    /// Stages of a load that shifts within each sample; empty if it does not shift.
    pub stages: Vec<Stage>,
    /// Least seconds of traffic before each sample.
    pub warmup: u32,
    /// Seconds of each sample.
    pub duration: u32,
}

/// Which program sends the long flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongTool {
    /// steer-bench.
    Builtin,
    /// iperf3, as a second opinion.
    Iperf3,
}

impl Word for LongTool {
    const ALL: &'static [Self] = &[Self::Builtin, Self::Iperf3];

    fn word(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Iperf3 => "iperf3",
        }
    }
}

impl Workload {
    /// Checks how the flags combine, which their types cannot.
    ///
    /// # Errors
    /// Names the flags that conflict.
    pub fn check(&self) -> Result<()> {
        let reads_as_ever = self.long_reads == Reads::default();
        ensure!(
            self.long_tool == LongTool::Builtin
                || reads_as_ever && self.long_direction == Direction::In && !self.long_zerocopy,
            "--long-tool iperf3 sends to the measured machine, and reads, in its own way: leave out \
             --long-direction, --long-reads and --long-zerocopy"
        );
        ensure!(
            reads_as_ever || self.long_direction == Direction::In,
            "--long-reads applies to the measured machine, which reads nothing with --long-direction \
             out: leave out one of them"
        );
        ensure!(
            self.long_threads.is_none()
                || self.long_tool == LongTool::Builtin && self.long_direction == Direction::In,
            "--long-threads applies to flows that steer-bench receives on the measured machine: leave \
             out --long-tool and --long-direction"
        );
        ensure!(
            self.rpc_work.is_none() || self.rpc_tool == RpcTool::Builtin,
            "--rpc-work is for steer-bench's own server: leave out --rpc-tool"
        );
        self.check_stages()
    }

    /// Checks that only steer-bench sends and serves.
    ///
    /// # Errors
    /// Names the flags that ask for other programs, and `who`, the command that does not support
    /// them.
    pub fn check_own(&self, who: &str) -> Result<()> {
        ensure!(
            self.long_tool == LongTool::Builtin && self.rpc_tool == RpcTool::Builtin,
            "{who} drives traffic only with steer-bench: leave out --long-tool and --rpc-tool"
        );
        Ok(())
    }

    /// Checks that the server can trace all long flows from start to end.
    ///
    /// # Errors
    /// Names the flags that prevent this.
    pub fn check_traced(&self) -> Result<()> {
        ensure!(
            self.long_flows > 0
                && self.long_tool == LongTool::Builtin
                && self.long_direction == Direction::In
                && self.long_threads.is_none()
                && self.stages.is_empty(),
            "only long flows that come in all the time, each for a thread of its own, can be traced: \
             set --long-flows, and leave out --long-tool, --long-direction, --long-threads and --stage"
        );
        Ok(())
    }

    /// Programs that must be installed.
    pub fn needs(&self) -> impl Iterator<Item = &'static Needed> {
        let iperf = if self.long_tool == LongTool::Iperf3 { IPERF } else { &[] };
        iperf.iter().chain(self.rpc_tool.needs())
    }

    /// The RPCs, if a program other than our server serves them.
    pub fn calls(&self) -> Option<Calls> {
        let calls = Calls {
            connections: self.rpc_connections,
            size: self.rpc_size.value.bytes(),
            threads: self.rpc_threads,
        };
        let other = self.rpc_tool != RpcTool::Builtin && calls.connections > 0;
        other.then_some(calls)
    }

    /// The RPCs, if a load tool drives them.
    pub(crate) fn calls_of_tool(&self) -> Option<Calls> {
        self.calls().filter(|_| !self.asks())
    }

    /// Whether our client drives the RPCs.
    fn asks(&self) -> bool {
        self.own_client || self.rpc_rate > 0 || !self.rpc_tool.has_load_tool()
    }

    /// Flags that our client needs beside those of its load.
    pub fn client_flags(&self) -> Vec<String> {
        let calls = self.calls().filter(|_| self.asks());
        calls.map_or_else(Vec::new, |calls| self.rpc_tool.client_flags(calls))
    }

    /// The servers of these RPCs.
    pub fn rpc_servers(&self, pinned: bool, layout: &Layout) -> Vec<Server> {
        let calls = self.calls();
        calls.map_or_else(Vec::new, |calls| self.rpc_tool.servers(calls, pinned, layout))
    }

    /// Least time of traffic before the sample.
    pub fn warmup(&self) -> Duration {
        Duration::from_secs(self.warmup.into())
    }

    /// Length of the sample.
    pub fn duration(&self) -> Duration {
        Duration::from_secs(self.duration.into())
    }

    /// Command line of the server on the measured machine.
    pub fn server(&self, pinned: bool, layout: &Layout) -> Vec<String> {
        let mut argv = words("steer-bench server");
        argv.extend(words(&format!(
            "--bind {} --rpc-connections {} --rpc-threads {}",
            layout.address,
            self.most_rpc(),
            self.rpc_threads
        )));
        argv.extend(self.rpc_work.iter().map(|work| format!("--rpc-work={}", work.text)));
        argv.push(format!("--long-reads={}", self.long_reads.word()));
        argv.extend(self.long_threads.map(|threads| format!("--long-threads={threads}")));
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

    /// Command lines of the iperf3 servers on the measured machine, one per long flow.
    pub fn iperf_servers(&self, pinned: bool, layout: &Layout) -> Vec<Vec<String>> {
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

    /// RPC connections that are open at the same time.
    pub fn most_rpc(&self) -> u32 {
        let numbers =
            stage::numbers(&self.stages, self.rpc_connections, |stage| stage.rpc_connections);
        numbers.into_iter().max().unwrap_or_default()
    }

    /// Time for opening the connections, before the warm-up.
    pub fn connecting(&self) -> Duration {
        let seconds = match self.most_rpc() {
            ..=FEW => 0,
            many => OPEN_S + many.div_ceil(OPEN_PER_S),
        };
        Duration::from_secs(seconds.into())
    }

    /// The load of our client: in the time `warmup` before the sample, including connecting, and in
    /// the sample. Its source ports decide which queues receive the flows.
    pub fn load(&self, warmup: Duration, source_port: u16) -> Load {
        let long_flows = if self.long_tool == LongTool::Builtin { self.long_flows } else { 0 };
        let rpc_connections = if self.asks() { self.rpc_connections } else { 0 };
        Load {
            long_flows,
            long_rate: self.long_rate.value.bits_per_s(),
            long_direction: self.long_direction,
            long_zerocopy: self.long_zerocopy && self.long_direction == Direction::In,
            rpc_connections,
            rpc_rate: self.rpc_rate,
            rpc_size: self.rpc_size.value.bytes(),
            stages: self.traffic_stages(long_flows, rpc_connections),
            connect_s: self.connecting().as_secs_f64(),
            warmup_s: warmup.saturating_sub(self.connecting()).as_secs_f64(),
            duration_s: self.duration.into(),
            source_port,
        }
    }

    /// Command lines of the iperf3 clients, with flags for how long they send. Their flows go to the
    /// measured machine's addresses in turns.
    pub fn iperf_clients(
        &self,
        servers: &[IpAddr],
        how_long: &str,
        source_port: u16,
    ) -> Vec<Vec<String>> {
        // iperf3 takes the units K, M and G without "bit".
        let rate = self.long_rate.text.trim_end_matches("bit").trim_end_matches("bps");
        let client = |flow: u16| {
            words(&format!(
                "iperf3 --client {} --port {} --cport {} --bitrate {rate} --length 256K {how_long}",
                servers[usize::from(flow) % servers.len()],
                IPERF_PORT + flow,
                source_port + flow
            ))
        };
        self.iperf_flows().map(client).collect()
    }

    fn iperf_flows(&self) -> std::ops::Range<u16> {
        0..if self.long_tool == LongTool::Iperf3 { self.long_flows } else { 0 }
    }

    /// Describes the workload, for the result.
    pub fn describe(&self, layout: &Layout) -> steer_result::Workload {
        steer_result::Workload {
            long_flows: self.long_flows.into(),
            long_rate: self.long_rate.text.clone(),
            long_tool: self.long_tool.word().to_owned(),
            long_direction: self.long_direction,
            long_reads: self.long_reads,
            long_threads: self.long_threads.map(u32::from),
            long_zerocopy: self.long_zerocopy,
            rpc_connections: self.rpc_connections,
            rpc_rate: Some(self.rpc_rate).filter(|rate| *rate > 0),
            rpc_size: self.rpc_size.text.clone(),
            rpc_threads: self.rpc_threads.into(),
            rpc_work: self.rpc_work.as_ref().map(|work| work.text.clone()),
            rpc_tool: self.rpc_tool.word().to_owned(),
            hogs: self.hog_sets(layout),
            stages: self.describe_stages(),
            warmup_s: self.warmup.into(),
            duration_s: self.duration.into(),
            ..steer_result::Workload::default()
        }
    }
}
