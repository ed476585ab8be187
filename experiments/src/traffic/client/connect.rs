//! Opens the client's connections, from fixed source ports when asked to, within bounded time.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow};
use indicatif::ProgressBar;
use socket2::{Domain, Protocol, Socket, Type};

use super::rpc::Connection;
use super::talk::{Protocol as Spoken, Talk};
use super::{ClientArgs, MOST_LONG, progress_bar};
use crate::traffic::long::Direction;
use crate::traffic::units::Seconds;
use crate::traffic::wire::{self, CONNECTIONS_PER_PORT};

/// Longest time to open few connections.
const LIMIT: Duration = Duration::from_secs(15);
/// Connections that are opened in a further second, at the least: an emulated guest takes several
/// times as many.
const PER_S: f64 = 1000.0;
/// Longest time for the first of them, which finds out whether there is a server; the others have all
/// the time there is: the kernel asks a busy guest again only after 1, 3, 7 s.
const LIMIT_FIRST: Duration = Duration::from_secs(5);
/// RPC connections up to which they are opened one after the other, so that the server deals the same
/// ones to each of its threads in every run. Of more, each of those has all kinds.
const FEW: usize = 1000;
/// Connections that a thread opens before it greets the first of them. A tap turns a flow to another
/// queue when its SYN-ACK comes, so that the handshake's ACK and a greeting right behind it meet two
/// CPUs of the guest. Where the second looks the connection up just as the first puts it in its
/// request's place, it finds neither, and the listener resets it (tcp_send_reset: TCP_LISTEN), on
/// kernels without "inet: Avoid ehash lookup race in inet_ehash_insert()": of 100,000 greeted at once
/// some. Of so many later handshakes one is in the ACK's queue behind it, almost surely.
const AHEAD: usize = 64;
/// Before the last of them are greeted.
const GREET_AFTER: Duration = Duration::from_millis(50);
/// How often a thread looks whether the connection before its own is open.
const NAP: Duration = Duration::from_micros(20);
/// Distance of the first RPC connection's source port from the first long flow's: behind the last.
const RPC_OFFSET: u32 = MOST_LONG as u32;

/// Where a connection goes, and from which port if that is fixed.
pub(super) type Route = (SocketAddr, Option<u16>);

/// What all connections have in common as they are opened, by several threads.
pub(super) struct Opening {
    deadline: Instant,
    limit: Duration,
    bar: ProgressBar,
    /// Which of few RPC connections is the next.
    next: Option<AtomicU32>,
    failed: AtomicBool,
}

impl Opening {
    /// Begins to open all connections.
    pub(super) fn begin(args: &ClientArgs) -> Self {
        let all = u32::from(args.most_long()) + args.most_rpc();
        let limit = args.connect_within.map_or_else(
            || LIMIT + Duration::from_secs_f64(f64::from(all) / PER_S),
            Seconds::duration,
        );
        Self {
            deadline: Instant::now() + limit,
            limit,
            bar: progress_bar(all.into(), "connecting {pos} of {len} {bar:40} {elapsed}"),
            next: (args.most_rpc() as usize <= FEW).then(AtomicU32::default),
            failed: AtomicBool::default(),
        }
    }

    /// Opens the long flows.
    ///
    /// # Errors
    /// Names the connection that could not be opened, and the likely reason, as for the others.
    pub(super) fn long(&self, routes: Vec<Route>) -> Result<Vec<TcpStream>> {
        (0..).zip(routes).map(|(index, route)| self.one("long flow", index, route)).collect()
    }

    /// Opens some of the RPC connections, by number, and greets the server on each. When another thread
    /// failed to, some are missing.
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
        opened[greeted..].iter().try_for_each(Connection::greet)?;
        Ok(opened)
    }

    /// Waits until the connections before this one are open, where these are few; false when a thread
    /// failed.
    fn turn_of(&self, index: u32) -> bool {
        let failed = || self.failed.load(Relaxed);
        while self.next.as_ref().is_some_and(|next| next.load(Acquire) != index) && !failed() {
            thread::sleep(NAP);
        }
        !failed()
    }

    /// All are open.
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
        // A reset at the end leaves no TIME_WAIT behind: the next run binds the same ports at once.
        socket.set_linger(Some(Duration::ZERO)).context("cannot set SO_LINGER")?;
        socket.set_tcp_nodelay(true).context("cannot set TCP_NODELAY")?;
        let left = || self.deadline.saturating_duration_since(Instant::now());
        let late = || {
            let (open, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
            let limit = self.limit.as_secs_f64();
            anyhow!(
                "{open} of {all} connections were open after {limit:.0} s: open fewer, or on an idler \
                 machine (`steer-bench client` by itself has --connect-within)"
            )
        };
        let limit = if self.bar.position() == 0 { LIMIT_FIRST.min(left()) } else { left() };
        if limit.is_zero() {
            return Err(late());
        }
        socket.connect_timeout(&server.into(), limit).map_err(|error| match error.kind() {
            ErrorKind::TimedOut if left().is_zero() => late(),
            ErrorKind::ConnectionRefused => Error::new(error).context(
                "nobody listens; is `steer-bench server` running there? More than 4000 connections \
                 need its --rpc-connections",
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

/// Where the long flows and the RPC connections go.
pub(super) fn routes(args: &ClientArgs) -> Result<(Vec<Route>, Vec<Route>)> {
    let servers: Vec<SocketAddr> =
        args.server.iter().map(|server| resolve(server)).collect::<Result<_>>()?;
    // Connections go to the servers in turns, and are counted for each by itself.
    let turn = |index: u32| {
        let all = servers.len() as u32;
        (servers[(index % all) as usize], index / all)
    };
    let long_port = match args.long_direction {
        Direction::In => args.long_port,
        Direction::Out => args.long_out_port,
    };
    let long = (0..args.most_long().into()).map(|index| {
        let (mut server, turn) = turn(index);
        server.set_port(long_port);
        Ok((server, source_port(args.source_port, turn)?))
    });
    let rpc = (0..args.most_rpc()).map(|index| {
        let (mut server, turn) = turn(index);
        let port = wire::rpc_port(args.rpc_port, turn / CONNECTIONS_PER_PORT);
        server.set_port(port.with_context(|| {
            format!("--rpc-port {} leaves no room below 65536 for further ports", args.rpc_port)
        })?);
        let number = RPC_OFFSET + turn % CONNECTIONS_PER_PORT;
        Ok((server, source_port(args.source_port, number)?))
    });
    Ok((long.collect::<Result<_>>()?, rpc.collect::<Result<_>>()?))
}

/// A server, at no port yet.
fn resolve(host: &str) -> Result<SocketAddr> {
    // A literal IPv6 address has colons, which the host:port syntax would misread.
    if let Ok(address) = host.parse() {
        return Ok(SocketAddr::new(address, 0));
    }
    let found = (host, 0).to_socket_addrs().with_context(|| format!("--server {host}"))?.next();
    found.with_context(|| format!("--server {host}: the name has no address"))
}

/// A source port, by its number from the first on; `None` where the kernel may choose.
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

    use clap::Parser;
    use proptest::prelude::*;

    use super::*;

    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        args: ClientArgs,
    }

    fn routes_of(flags: &str) -> Result<(Vec<Route>, Vec<Route>)> {
        routes(&Line::try_parse_from(flags.split(' ')).unwrap().args)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// No two connections share both ends, and the ports are those that the help promises.
        #[test]
        fn each_connection_has_ends_of_its_own(
            rpc in prop_oneof![0u32..20_000, Just(300_000)], long in 0u32..1000, source in 1u32..60_000,
        ) {
            let flags = format!(
                "--server 10.0.0.1,10.0.1.1 --long-flows {long} --rpc-connections {rpc} \
                 --source-port {source}"
            );
            let (long_routes, rpc_routes) = routes_of(&flags).unwrap();
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
        let error = |flags: &str| routes_of(flags).unwrap_err().to_string();
        assert!(
            error("--server 10.0.0.1 --source-port 64600").contains("--source-port 64600 leaves")
        );
        let crowd = "--server 10.0.0.1 --rpc-connections 5000 --rpc-port 60000";
        assert!(error(crowd).contains("--rpc-port 60000 leaves"));
        let (long, rpc) = routes_of("--server ::1").unwrap();
        assert!(long.iter().chain(&rpc).all(|(to, from)| to.is_ipv6() && from.is_none()));
    }
}
