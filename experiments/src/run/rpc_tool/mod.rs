//! Programs that nobody of us wrote as the server of the RPCs, in a guest, each asked by its usual
//! load tool on this machine, or else by our client. Rate and latency are what the tool reports; what
//! it cannot say stays unknown. The tools choose their source ports themselves.

mod memcached;
mod nginx;
mod redis;

use std::net::IpAddr;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use super::layout::Layout;
use crate::lab::facts::joined;
use crate::traffic::client::RpcReport;
use crate::traffic::generator::Generator;

/// Beyond what is expected of a run of a tool: it connects, and the guest may stall.
const GRACE: Duration = Duration::from_secs(40);

/// Who serves the RPCs, and who asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RpcTool {
    /// This program does both.
    #[default]
    Builtin,
    /// Instances of redis, asked by redis-benchmark for one value of the size (GET).
    Redis,
    /// nginx, asked by wrk for one file of the size (GET).
    Nginx,
    /// memcached, asked by this program for a value of the size per connection (get).
    Memcached,
}

/// The RPCs of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calls {
    /// Connections, each with one request outstanding.
    pub(super) connections: u32,
    /// Bytes of what is asked for.
    pub(super) size: u64,
    /// Threads that serve them.
    pub(super) threads: u16,
}

/// A server in the guest.
pub(super) struct Server {
    /// Name among the agent's programs.
    pub(super) name: String,
    /// Its command line.
    pub(super) argv: Vec<String>,
    /// Where it listens, once it is ready.
    pub(super) port: u16,
}

/// A program that must be installed, how it is, and whether the guest needs it.
pub(super) struct Needed {
    pub(super) program: &'static str,
    pub(super) how: &'static str,
    pub(super) in_guest: bool,
}

/// What one run of a load tool said.
#[derive(Debug, Clone, PartialEq)]
struct Said {
    count: u64,
    length: Duration,
    p50_us: f64,
    p99_us: f64,
}

impl Said {
    /// Answers per second.
    fn rate(&self) -> f64 {
        self.count as f64 / self.length.as_secs_f64()
    }
}

/// Starts a command line where the load comes from.
pub(super) type Start<'a> = &'a dyn Fn(&[String]) -> Result<Command>;

impl RpcTool {
    /// What has to be installed.
    pub(super) fn needs(self) -> &'static [Needed] {
        match self {
            Self::Builtin => &[],
            Self::Redis => redis::NEEDED,
            Self::Nginx => nginx::NEEDED,
            Self::Memcached => memcached::NEEDED,
        }
    }

    /// The servers. Pinned by hand, they run where RPC threads do.
    pub(super) fn servers(self, calls: Calls, pinned: bool, layout: &Layout) -> Vec<Server> {
        let mut servers = match self {
            Self::Builtin => Vec::new(),
            Self::Redis => redis::servers(calls, layout.address),
            Self::Nginx => nginx::servers(calls, layout.address),
            Self::Memcached => memcached::servers(calls, layout.address),
        };
        if pinned {
            let bound = ["taskset", "-c", &joined(&layout.rpc_cpus)].map(str::to_owned);
            servers.iter_mut().for_each(|server| drop(server.argv.splice(0..0, bound.clone())));
        }
        servers
    }

    /// Whether our client asks.
    pub(super) fn is_asked_by_us(self) -> bool {
        matches!(self, Self::Builtin | Self::Memcached)
    }

    /// What our client has to know of the server, if that is not our own.
    pub(super) fn client_flags(self) -> Vec<String> {
        if self == Self::Memcached { memcached::client() } else { Vec::new() }
    }

    /// Has the tool ask until `warm`, and then for `window`; gives its report about that, and when it
    /// began.
    ///
    /// # Errors
    /// When the tool fails, hangs, or its report is not understood.
    pub(super) fn drive(
        self,
        calls: Calls,
        server: IpAddr,
        start: Start<'_>,
        warm: Instant,
        window: Duration,
    ) -> Result<(RpcReport, Instant)> {
        let (source, (said, begun)) = match self {
            Self::Builtin | Self::Memcached => {
                return Err(anyhow::Error::msg("our client drives its own RPCs"));
            }
            Self::Redis => ("redis-benchmark", redis::drive(calls, server, start, warm, window)?),
            Self::Nginx => ("wrk", nginx::drive(calls, server, start, warm, window)?),
        };
        Ok((report(source, calls, &said)?, begun))
    }
}

/// What several runs of a tool at a time come to. Quantiles of several cannot be combined.
fn report(source: &str, calls: Calls, said: &[Said]) -> Result<RpcReport> {
    let only = match said {
        [only] => Some(only),
        _ => None,
    };
    let longest = said.iter().map(|said| said.length).max();
    let longest = longest.with_context(|| format!("{source} did not run"))?;
    let count = said.iter().map(|said| said.count).sum();
    ensure!(count > 0, "{source} got no answer");
    Ok(RpcReport {
        connections: calls.connections,
        size: calls.size,
        // A GET has none.
        request_size: Some(0),
        count,
        rate: said.iter().map(Said::rate).sum(),
        p50_us: only.map(|only| only.p50_us),
        p99_us: only.map(|only| only.p99_us),
        p999_us: None,
        rtt_us: None,
        histogram: None,
        source: Some(source.to_owned()),
        duration_s: Some(longest.as_secs_f64()),
    })
}

/// Runs some command lines at a time, each to its end, which is to come within about `length`; gives
/// what they print.
fn run(start: Start<'_>, lines: &[Vec<String>], length: Duration) -> Result<Vec<String>> {
    let deadline = Instant::now() + length + GRACE;
    let generators = lines.iter().map(|line| Generator::start(start(line)?));
    let generators: Vec<Generator> = generators.collect::<Result<_>>()?;
    let finish = |(generator, line): (Generator, &Vec<String>)| {
        generator.finish(deadline).with_context(|| format!("{} failed", line[0]))
    };
    generators.into_iter().zip(lines).map(finish).collect()
}

/// Sleeps until then, if that is yet to come.
fn sleep_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: Calls = Calls { connections: 16, size: 4096, threads: 2 };

    fn layout() -> Layout {
        Layout {
            nodes: vec![vec![0, 1], vec![2, 3]],
            long_cpus: vec![2, 3],
            rpc_cpus: vec![0, 1],
            address: [0, 0, 0, 0].into(),
        }
    }

    #[test]
    fn only_the_pinned_arm_is_bound() {
        for tool in [RpcTool::Redis, RpcTool::Nginx, RpcTool::Memcached] {
            let lines = |pinned| tool.servers(CALLS, pinned, &layout());
            for (free, bound) in lines(false).iter().zip(lines(true)) {
                assert_eq!(bound.argv[..3], ["taskset", "-c", "0,1"]);
                assert_eq!(bound.argv[3..], free.argv);
            }
        }
        assert!(RpcTool::Builtin.servers(CALLS, true, &layout()).is_empty());
    }

    #[test]
    fn quantiles_of_several_are_unknown_and_rates_add_up() {
        let said =
            |count| Said { count, length: Duration::from_secs(2), p50_us: 10.0, p99_us: 20.0 };
        let one = report("wrk", CALLS, &[said(100)]).unwrap();
        assert_eq!(
            (one.rate, one.p50_us, one.p99_us, one.p999_us),
            (50.0, Some(10.0), Some(20.0), None)
        );
        let two = report("redis-benchmark", CALLS, &[said(100), said(200)]).unwrap();
        assert_eq!((two.count, two.rate, two.p50_us, two.p99_us), (300, 150.0, None, None));
        assert!(report("wrk", CALLS, &[]).is_err());
        assert!(report("wrk", CALLS, &[said(0)]).is_err());
    }

    #[test]
    fn a_tool_that_fails_is_named_with_what_it_said() {
        let sh = |line: &[String]| {
            let mut command = Command::new("sh");
            command.args(["-c", &line[1]]);
            Ok(command)
        };
        let lines = |script: &str| vec![vec!["wrk".to_owned(), script.to_owned()]];
        let second = Duration::from_secs(1);
        assert_eq!(run(&sh, &lines("echo yes"), second).unwrap(), ["yes\n"]);
        let error = format!("{:#}", run(&sh, &lines("echo no >&2; exit 1"), second).unwrap_err());
        assert!(error.contains("wrk failed") && error.contains("no"), "{error}");
    }
}
