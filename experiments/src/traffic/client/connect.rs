//! Opens the client's connections, from fixed source ports when asked to, within bounded time.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail};
use socket2::{Domain, Protocol, Socket, Type};

use super::{ClientArgs, MOST_LONG};
use crate::traffic::long::Direction;

/// Longest time to open all connections.
const LIMIT: Duration = Duration::from_secs(15);
/// Longest time for one of them.
const LIMIT_EACH: Duration = Duration::from_secs(5);
/// Distance of the first RPC connection's source port from the first long flow's: behind the last.
const RPC_OFFSET: u16 = MOST_LONG;

/// The open connections, idle.
pub(super) struct Connections {
    /// Where long flow i goes.
    pub(super) long: Vec<TcpStream>,
    /// The RPC connections.
    pub(super) rpc: Vec<TcpStream>,
}

impl Connections {
    /// Connects all flows.
    ///
    /// # Errors
    /// Names the first connection that could not be opened, and the likely reason.
    pub(super) fn open(args: &ClientArgs) -> Result<Self> {
        let deadline = Instant::now() + LIMIT;
        let long_sources = source_ports(args, 0, args.most_long())?;
        let rpc_sources = source_ports(args, RPC_OFFSET, args.most_rpc())?;
        let open = |kind: &str, port: u16, sources: Vec<Option<u16>>| -> Result<Vec<TcpStream>> {
            let servers = args.server.iter().map(|server| resolve(server, port));
            let servers = servers.collect::<Result<Vec<_>>>()?;
            let connect_one = |(index, source): (usize, Option<u16>)| {
                let server = servers[index % servers.len()];
                connect(server, source, deadline).with_context(|| {
                    let from = source.map(|port| format!(" from source port {port}"));
                    let from = from.unwrap_or_default();
                    format!("cannot connect {kind} {index} to {server}{from}")
                })
            };
            sources.into_iter().enumerate().map(connect_one).collect()
        };
        let long_port = match args.long_direction {
            Direction::In => args.long_port,
            Direction::Out => args.long_out_port,
        };
        Ok(Self {
            long: open("long flow", long_port, long_sources)?,
            rpc: open("RPC connection", args.rpc_port, rpc_sources)?,
        })
    }
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
    // A literal IPv6 address has colons, which the host:port syntax would misread.
    if let Ok(address) = host.parse() {
        return Ok(SocketAddr::new(address, port));
    }
    let found = (host, port).to_socket_addrs().with_context(|| format!("--server {host}"))?.next();
    found.with_context(|| format!("--server {host}: the name has no address"))
}

/// The source port of each connection, counted for each of the servers by itself; `None` where the
/// kernel may choose.
fn source_ports(args: &ClientArgs, offset: u16, count: u16) -> Result<Vec<Option<u16>>> {
    let Some(first) = args.source_port else { return Ok(vec![None; usize::from(count)]) };
    let turn = |index: u16| index / args.server.len() as u16;
    let port = |index| first.checked_add(offset)?.checked_add(turn(index));
    let ports: Option<Vec<_>> = (0..count).map(|index| port(index).map(Some)).collect();
    ports.with_context(|| {
        format!("--source-port {first} leaves no room below 65536 for all connections")
    })
}

fn connect(server: SocketAddr, source: Option<u16>, deadline: Instant) -> Result<TcpStream> {
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
    let limit = LIMIT_EACH.min(deadline.saturating_duration_since(Instant::now()));
    if limit.is_zero() {
        bail!("not all connections were open after {} s", LIMIT.as_secs());
    }
    socket.connect_timeout(&server.into(), limit).map_err(|error| match error.kind() {
        ErrorKind::ConnectionRefused => {
            Error::new(error).context("nobody listens; is `steer-bench server` running there?")
        }
        ErrorKind::TimedOut => Error::new(error).context("no answer; is the address right?"),
        ErrorKind::AddrNotAvailable | ErrorKind::AddrInUse => {
            Error::new(error).context("the source port is in use; choose another --source-port")
        }
        _ => error.into(),
    })?;
    Ok(socket.into())
}
