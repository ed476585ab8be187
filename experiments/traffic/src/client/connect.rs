//! Opens the client's connections within bounded time, from fixed source ports if asked to.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow};
use indicatif::ProgressBar;
use socket2::{Domain, Protocol, Socket, Type};

use super::options::{ClientOptions, MOST_LONG};
use super::progress::progress_bar;
use super::rpc::Connection;
use super::talk::{Protocol as Spoken, Talk};
use crate::long::Direction;
use crate::wire;
use crate::wire::CONNECTIONS_PER_PORT;
use steer_ground::units::Seconds;

/// Longest time to open few connections.
const LIMIT: Duration = Duration::from_secs(15);
/// Each further second allows this many more connections. An emulated guest accepts several times
/// as many.
const PER_S: f64 = 1000.0;
/// Longest time for the first connection, which shows whether there is a server. The others may use
/// all the time: the kernel repeats a SYN to a busy guest only after 1, 3 and 7 s.
const LIMIT_FIRST: Duration = Duration::from_secs(5);
/// Up to this many RPC connections are opened one after the other, so that each thread of the
/// server gets the same connections in every run. With more connections, every thread gets
/// connections of all kinds.
const FEW: usize = 1000;
/// A thread opens this many connections before it greets the first one. When the guest sends its
/// SYN-ACK, the tap moves the flow to another queue. So the handshake's ACK and a greeting right
/// behind it may be processed on two CPUs of the guest. If one CPU looks up the connection while
/// the other replaces the request socket by the full socket, it finds neither, and the listener
/// resets the connection (tcp_send_reset: TCP_LISTEN). This affects kernels without "inet: Avoid
/// ehash lookup race in inet_ehash_insert()": of 100,000 connections greeted at once, some are
/// reset. With this many handshakes between ACK and greeting, one of them almost surely follows the
/// ACK in its queue, so the ACK has been processed.
const AHEAD: usize = 64;
/// Wait before the last `AHEAD` connections are greeted.
const GREET_AFTER: Duration = Duration::from_millis(50);
/// How often a thread checks whether the connection before its own is open.
const NAP: Duration = Duration::from_micros(20);
/// Source ports of RPC connections start this far behind the first long flow's: after the last long
/// flow's.
const RPC_OFFSET: u32 = MOST_LONG as u32;

/// Where a connection goes, and its source port if that is fixed.
pub(super) type Route = (SocketAddr, Option<u16>);

/// State shared by the threads that open connections.
pub(super) struct Opening {
    deadline: Instant,
    limit: Duration,
    bar: ProgressBar,
    /// The next RPC connection to open, if they are few enough to be opened in order.
    next: Option<AtomicU32>,
    failed: AtomicBool,
}

impl Opening {
    /// Starts the time limit and the progress bar for all connections.
    pub(super) fn begin(options: &ClientOptions) -> Self {
        let all = u32::from(options.most_long()) + options.most_rpc();
        let limit = options.connect_within.map_or_else(
            || LIMIT + Duration::from_secs_f64(f64::from(all) / PER_S),
            Seconds::duration,
        );
        Self {
            deadline: Instant::now() + limit,
            limit,
            bar: progress_bar(all.into(), "connecting {pos} of {len} {bar:40} {elapsed}"),
            next: (options.most_rpc() as usize <= FEW).then(AtomicU32::default),
            failed: AtomicBool::default(),
        }
    }

    /// Opens the long flows.
    ///
    /// # Errors
    /// Names the connection that could not be opened, and the likely reason.
    pub(super) fn long(&self, routes: Vec<Route>) -> Result<Vec<TcpStream>> {
        (0..).zip(routes).map(|(index, route)| self.one("long flow", index, route)).collect()
    }

    /// Opens some of the RPC connections, by number, and greets the server on each. Returns early,
    /// with fewer connections, when another thread failed.
    ///
    /// # Errors
    /// As for the long flows.
    pub(super) fn rpc(
        &self,
        routes: Vec<(u32, Route)>,
        protocol: Spoken,
        size: usize,
    ) -> Result<Vec<Connection>> {
        let opened = self.open_and_greet(routes, protocol, size);
        opened.inspect_err(|_| self.failed.store(true, Relaxed))
    }

    fn open_and_greet(
        &self,
        routes: Vec<(u32, Route)>,
        protocol: Spoken,
        size: usize,
    ) -> Result<Vec<Connection>> {
        let mut opened: Vec<Connection> = Vec::with_capacity(routes.len());
        for (index, route) in routes {
            if !self.turn_of(index) {
                return Ok(opened);
            }
            let stream = self.one("RPC connection", index, route)?;
            if let Some(next) = &self.next {
                next.store(index + 1, Release);
            }
            opened.push(Connection::new(index, stream, Talk::new(protocol, index, size)));
            if let Some(due) = opened.len().checked_sub(AHEAD + 1) {
                opened[due].greet()?;
            }
        }
        thread::sleep(GREET_AFTER);
        let greeted = opened.len().saturating_sub(AHEAD);
        opened[greeted..].iter_mut().try_for_each(Connection::greet)?;
        Ok(opened)
    }

    /// If connections are opened in order, waits for this one's turn. False when a thread failed.
    fn turn_of(&self, index: u32) -> bool {
        let failed = || self.failed.load(Relaxed);
        while self.next.as_ref().is_some_and(|next| next.load(Acquire) != index) && !failed() {
            thread::sleep(NAP);
        }
        !failed()
    }

    /// Removes the progress bar: all connections are open.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn one(&self, kind: &str, index: u32, (server, source): Route) -> Result<TcpStream> {
        let opened = self.connect(server, source).with_context(|| {
            let from = source.map(|port| format!(" from source port {port}")).unwrap_or_default();
            format!("cannot connect {kind} {index} to {server}{from}")
        })?;
        self.bar.inc(1);
        Ok(opened)
    }

    fn connect(&self, server: SocketAddr, source: Option<u16>) -> Result<TcpStream> {
        let socket = Socket::new(Domain::for_address(server), Type::STREAM, Some(Protocol::TCP))
            .context("cannot create a socket")?;
        if let Some(port) = source {
            socket.set_reuse_address(true).context("cannot set SO_REUSEADDR")?;
            let local = match server {
                SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
                SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            };
            socket
                .bind(&local.into())
                .context("the source port is in use; choose another --source-port")?;
        }
        // Closing with a reset leaves no TIME_WAIT, so the next run can bind the same ports at
        // once.
        socket.set_linger(Some(Duration::ZERO)).context("cannot set SO_LINGER")?;
        socket.set_tcp_nodelay(true).context("cannot set TCP_NODELAY")?;
        let left = || self.deadline.saturating_duration_since(Instant::now());
        let late = || {
            let (open, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
            let limit = self.limit.as_secs_f64();
            anyhow!(
                "only {open} of {all} connections were open after {limit:.0} s: open fewer, or use a less busy \
                 machine (`steer-bench client` alone has --connect-within)"
            )
        };
        let limit = if self.bar.position() == 0 { LIMIT_FIRST.min(left()) } else { left() };
        if limit.is_zero() {
            return Err(late());
        }
        socket.connect_timeout(&server.into(), limit).map_err(|error| match error.kind() {
            ErrorKind::TimedOut if left().is_zero() => late(),
            ErrorKind::ConnectionRefused => Error::new(error).context(
                "connection refused; is the server running there? For more than 4000 connections, \
                 `steer-bench server` needs its flag --rpc-connections",
            ),
            ErrorKind::TimedOut => Error::new(error).context("no answer; is the address right?"),
            ErrorKind::AddrNotAvailable | ErrorKind::AddrInUse => {
                Error::new(error).context("the source port is in use; choose another --source-port")
            }
            _ => error.into(),
        })?;
        Ok(socket.into())
    }
}

/// The routes of the long flows, and those of the RPC connections.
pub(super) fn routes(options: &ClientOptions) -> Result<(Vec<Route>, Vec<Route>)> {
    let servers: Vec<SocketAddr> =
        options.server.iter().map(|server| resolve(server)).collect::<Result<_>>()?;
    // Connections go to the servers in turns. Each server counts its own.
    let turn = |index: u32| {
        let all = servers.len() as u32;
        (servers[(index % all) as usize], index / all)
    };
    let long_port = match options.long_direction {
        Direction::In => options.long_port,
        Direction::Out => options.long_out_port,
    };
    let long = (0..options.most_long().into()).map(|index| {
        let (mut server, turn) = turn(index);
        server.set_port(long_port);
        Ok((server, source_port(options.source_port, turn)?))
    });
    let rpc = (0..options.most_rpc()).map(|index| {
        let (mut server, turn) = turn(index);
        let further = turn % u32::from(options.rpc_instances);
        let first = u16::try_from(u32::from(options.rpc_port) + further).ok();
        let port = first.and_then(|first| wire::rpc_port(first, turn / CONNECTIONS_PER_PORT));
        server.set_port(port.with_context(|| {
            format!("--rpc-port {} leaves no room below 65536 for further ports", options.rpc_port)
        })?);
        let number = RPC_OFFSET + turn % CONNECTIONS_PER_PORT;
        Ok((server, source_port(options.source_port, number)?))
    });
    Ok((long.collect::<Result<_>>()?, rpc.collect::<Result<_>>()?))
}

/// The address of a server; the port is filled in later.
fn resolve(host: &str) -> Result<SocketAddr> {
    // The host:port syntax would misread the colons of a literal IPv6 address.
    if let Ok(address) = host.parse() {
        return Ok(SocketAddr::new(address, 0));
    }
    let found = (host, 0).to_socket_addrs().with_context(|| format!("--server {host}"))?.next();
    found.with_context(|| format!("--server {host}: this name has no address"))
}

/// The source port with this number, counted from the first. `None` if the kernel may choose.
fn source_port(first: Option<u16>, number: u32) -> Result<Option<u16>> {
    let Some(first) = first else { return Ok(None) };
    let port = u16::try_from(u32::from(first) + number).ok().with_context(|| {
        format!("--source-port {first} leaves no room below 65536 for all connections")
    })?;
    Ok(Some(port))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// The client's default options.
    fn options(servers: &[&str]) -> ClientOptions {
        let seconds = |text: &str| text.parse().unwrap();
        ClientOptions {
            server: servers.iter().map(|&server| server.to_owned()).collect(),
            long_port: wire::LONG_PORT,
            long_out_port: wire::LONG_OUT_PORT,
            rpc_port: wire::RPC_PORT,
            long_flows: 2,
            long_direction: Direction::In,
            long_zerocopy: false,
            long_rate: "max".parse().unwrap(),
            long_chunk: "256KiB".parse().unwrap(),
            rpc_connections: 16,
            rpc_rate: 0,
            rpc_size: "4KiB".parse().unwrap(),
            rpc_protocol: Spoken::Own,
            rpc_instances: 1,
            rpc_threads: None,
            stages: Vec::new(),
            connect_within: None,
            warmup: seconds("2"),
            duration: seconds("8"),
            source_port: None,
            json: false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// No two connections share both ends, and the ports are as `--help` says.
        #[test]
        fn each_connection_has_ends_of_its_own(
            rpc in prop_oneof![0u32..20_000, Just(300_000)], long in 0u32..1000, source in 1u32..60_000,
        ) {
            let (long_routes, rpc_routes) = routes(&ClientOptions {
                long_flows: long as u16,
                rpc_connections: rpc,
                source_port: Some(source as u16),
                ..options(&["10.0.0.1", "10.0.1.1"])
            })
            .unwrap();
            let all: HashSet<_> = long_routes.iter().chain(&rpc_routes).collect();
            prop_assert_eq!(all.len() as u32, long + rpc);
            for (index, (_, from)) in (0..).zip(&long_routes) {
                prop_assert_eq!(from.map(u32::from), Some(source + index / 2));
            }
            for (index, (to, from)) in (0..).zip(&rpc_routes) {
                prop_assert_eq!(from.map(u32::from), Some(source + 1000 + index / 2 % 4000));
                prop_assert_eq!(to.port(), if index < 8000 { 5202 } else { 12_002 + (index / 8000) as u16 });
            }
        }
    }

    #[test]
    fn ports_end_at_65535() {
        let error = |options| routes(&options).unwrap_err().to_string();
        let one = || options(&["10.0.0.1"]);
        let last = ClientOptions { source_port: Some(64_600), ..one() };
        assert!(error(last).contains("--source-port 64600 leaves"));
        let crowd = ClientOptions { rpc_connections: 5000, rpc_port: 60_000, ..one() };
        assert!(error(crowd).contains("--rpc-port 60000 leaves"));
        let instances = ClientOptions { rpc_instances: 3, rpc_port: 65_534, ..one() };
        assert!(error(instances).contains("--rpc-port 65534 leaves"));
        let (long, rpc) = routes(&options(&["::1"])).unwrap();
        assert!(long.iter().chain(&rpc).all(|(to, from)| to.is_ipv6() && from.is_none()));
    }

    #[test]
    fn connections_go_to_instances_in_turns() {
        let several = ClientOptions { rpc_instances: 3, rpc_connections: 5, ..options(&["::1"]) };
        let (_, rpc) = routes(&several).unwrap();
        let ports: Vec<u16> = rpc.iter().map(|(to, _)| to.port()).collect();
        assert_eq!(ports, [5202, 5203, 5204, 5202, 5203]);
    }
}
