//! Well-known programs as servers of the RPCs in a guest. The load comes from each program's usual
//! load tool on this machine, or from our client. Rate and latency are what the tool reports; what
//! it does not report stays unknown. The tools choose their source ports themselves, and cannot
//! pause between requests.

mod load;
mod memcached;
mod nginx;
mod redis;
mod server;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use steer_ground::word::Word;

use super::layout::Layout;
use load::Said;
pub use load::Start;
pub use server::{Calls, Needed, Server};
use steer_ground::cpus::joined;
use steer_traffic::client::RpcReport;

/// Which programs serve the RPCs, and which drive them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RpcTool {
    /// steer-bench does both.
    #[default]
    Builtin,
    /// Instances of redis: GET of one value of this size.
    Redis,
    /// nginx: GET of one file of this size.
    Nginx,
    /// memcached: get of one value of this size per connection.
    Memcached,
}

impl Word for RpcTool {
    const ALL: &'static [Self] = &[Self::Builtin, Self::Redis, Self::Nginx, Self::Memcached];

    fn word(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Redis => "redis",
            Self::Nginx => "nginx",
            Self::Memcached => "memcached",
        }
    }
}

impl RpcTool {
    /// The programs that must be installed.
    pub fn needs(self) -> &'static [Needed] {
        match self {
            Self::Builtin => &[],
            Self::Redis => redis::NEEDED,
            Self::Nginx => nginx::NEEDED,
            Self::Memcached => memcached::NEEDED,
        }
    }

    /// The servers. If pinned by hand, they run on the CPUs of RPC threads.
    pub fn servers(self, calls: Calls, pinned: bool, layout: &Layout) -> Vec<Server> {
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

    /// Whether there is a load tool that can drive the RPCs: redis-benchmark or wrk.
    pub(crate) fn has_load_tool(self) -> bool {
        matches!(self, Self::Redis | Self::Nginx)
    }

    /// Flags that our client needs to drive them.
    pub(crate) fn client_flags(self, calls: Calls) -> Vec<String> {
        let (protocol, port, instances) = match self {
            Self::Builtin => return Vec::new(),
            Self::Redis => ("redis", redis::PORT, redis::instances(calls).count()),
            Self::Nginx => ("http", nginx::PORT, 1),
            Self::Memcached => ("memcached", memcached::PORT, 1),
        };
        vec![
            format!("--rpc-protocol={protocol}"),
            format!("--rpc-port={port}"),
            format!("--rpc-instances={instances}"),
        ]
    }

    /// Runs the tool until `warm`, and then for `window`. Returns its report about the window, and
    /// when that began.
    ///
    /// # Errors
    /// When the tool fails or hangs, or its report cannot be parsed.
    pub fn drive(
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

/// Combines simultaneous runs of a tool. Quantiles of several runs cannot be combined.
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
        // A GET has no payload.
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
}
