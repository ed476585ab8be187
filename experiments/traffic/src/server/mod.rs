//! The measured side: sinks and sources of long flows (a thread per connection, or a few that share
//! all) and an RPC service (a few epoll threads). All do as little as possible, so that mostly the
//! kernel's work is measured, unless --rpc-work asks for more.

mod long;
mod rpc;
mod shared;
mod work;
mod worker;

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use anyhow::{Context, Result};
use socket2::{Domain, Socket, Type};

use super::files;
use super::long::{Completions, Reads};
use super::poll::{Poller, Wants};
use super::wire;
use long::{End, Ends};
use rpc::Service;
use shared::Shared;
use steer_ground::cpus::CpuList;
use steer_ground::stop::Stop;
use steer_ground::units::Size;

/// What the server listens on, and how it serves.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Address to listen on.
    pub bind: IpAddr,
    /// Port of the long-flow sink.
    pub long_port: u16,
    /// Port that sends long flows to clients that ask for them.
    pub long_out_port: u16,
    /// What to do with the payload of incoming long flows.
    pub long_reads: Reads,
    /// Threads that share the incoming long flows; else each flow has a thread of its own.
    pub long_threads: Option<u16>,
    /// Send long flows without copying them (MSG_ZEROCOPY), and print at the end how many sends the
    /// kernel copied anyway.
    pub long_zerocopy: bool,
    /// For each incoming long flow, print the CPU that its thread runs on and the CPU that its
    /// packets arrive on, at every change: `trace THREAD MILLISECONDS CPU PACKETS-ON`, by the
    /// monotonic clock.
    pub trace_long: bool,
    /// Port of the RPC service.
    pub rpc_port: u16,
    /// Expected number of RPC connections. Each 4000 share a port. The second port is 6801 above
    /// --rpc-port, and the others follow it.
    pub rpc_connections: u32,
    /// Threads that share the RPC connections.
    pub rpc_threads: u16,
    /// Bytes of its own 256 KiB of memory that a thread reads and hashes before each reply, again
    /// and again if these are more; else it replies at once.
    pub rpc_work: Option<Size>,
    /// Pin each thread of the long flows to one of these CPUs, in turns.
    pub pin_long: Option<CpuList>,
    /// Pin every RPC thread to this set of CPUs.
    pub pin_rpc: Option<CpuList>,
}

/// Serves until SIGINT or SIGTERM. Prints `ready` once all ports listen.
///
/// # Errors
/// When a port is taken, a CPU to pin to is missing, or the process runs out of descriptors.
pub fn run(options: ServerOptions) -> Result<()> {
    let stop = Stop::on_signal()?;
    if let Some(cpus) = &options.pin_long {
        cpus.check().context("--pin-long")?;
    }
    if let Some(cpus) = &options.pin_rpc {
        cpus.check().context("--pin-rpc")?;
    }
    let long = listen(options.bind, options.long_port, "--long-port")?;
    let long_out = listen(options.bind, options.long_out_port, "--long-out-port")?;
    files::allow(options.rpc_connections.into())?;
    if let Some(warning) = short_backlog(options.rpc_connections) {
        eprintln!("steer-bench: {warning}");
    }
    let rpc = (0..wire::rpc_ports(options.rpc_connections)).map(|number| {
        let port = wire::rpc_port(options.rpc_port, number);
        listen(
            options.bind,
            port.context("--rpc-port leaves no room below 65536 for further ports")?,
            "--rpc-port",
        )
    });
    let rpc = rpc.collect::<Result<Vec<_>>>()?;
    let completions = options.long_zerocopy.then(Arc::<Completions>::default);
    let mut sinks =
        Ends::new(End::Sink(options.long_reads, options.trace_long), options.pin_long.clone());
    let shared = options
        .long_threads
        .map(|threads| Shared::start(threads, options.long_reads, options.pin_long.as_ref()));
    let shared = shared.transpose()?;
    let mut sources = Ends::new(End::Source(completions.clone()), options.pin_long);
    let mut service = Service::start(options.rpc_threads, options.rpc_work, options.pin_rpc)?;
    println!("ready");
    let mut ports = vec![(Serves::Sinks, long), (Serves::Sources, long_out)];
    ports.extend(rpc.into_iter().map(|listener| (Serves::Rpc, listener)));
    accept_until(&stop, &ports, |serves, stream| match serves {
        Serves::Sinks => match &shared {
            Some(shared) => shared.serve(stream),
            None => sinks.serve(stream),
        },
        Serves::Sources => sources.serve(stream),
        Serves::Rpc => service.serve(stream),
    })?;
    if let Some(completions) = completions {
        let completed = completions.so_far();
        println!("{completed}");
        if let Some(warning) = completed.warning() {
            eprintln!("steer-bench: {warning}");
        }
    }
    // The process ends here, with its threads and connections.
    Ok(())
}

/// Warns if many connections may arrive faster than they are accepted, so that the kernel drops
/// some.
fn short_backlog(connections: u32) -> Option<String> {
    let most = fs::read_to_string("/proc/sys/net/core/somaxconn").ok()?.trim().parse().ok()?;
    (connections.min(wire::CONNECTIONS_PER_PORT) > most).then(|| {
        format!(
            "a port can queue only {most} connections, fewer than may arrive at once; if clients time \
             out: sysctl net.core.somaxconn={}",
            wire::CONNECTIONS_PER_PORT
        )
    })
}

/// What serves the connections to a port.
#[derive(Clone, Copy)]
enum Serves {
    Sinks,
    Sources,
    Rpc,
}

fn listen(address: IpAddr, port: u16, flag: &str) -> Result<TcpListener> {
    let address = SocketAddr::new(address, port);
    let listen = || -> io::Result<TcpListener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        // As long as all connections that may come to the port: none is dropped, however late it is
        // accepted.
        socket.listen(wire::CONNECTIONS_PER_PORT as i32)?;
        Ok(socket.into())
    };
    let listener = listen().with_context(|| {
        format!("cannot listen on {address}; is another server running there? {flag} changes it")
    })?;
    // A connection that epoll(7) reports may be gone before it is accepted.
    listener.set_nonblocking(true).context("cannot make the listener non-blocking")?;
    Ok(listener)
}

fn accept_until(
    stop: &Stop,
    ports: &[(Serves, TcpListener)],
    mut serve: impl FnMut(Serves, TcpStream) -> Result<()>,
) -> Result<()> {
    const STOP: u64 = u64::MAX;
    let poller = Poller::new().context("cannot create an epoll set")?;
    poller.add(stop, STOP, Wants::Read).context("cannot watch for signals")?;
    for (token, (_, listener)) in (0..).zip(ports) {
        poller.add(listener, token, Wants::Read).context("cannot watch a port")?;
    }
    let mut ready = Vec::new();
    loop {
        poller.wait(&mut ready, None).context("cannot wait for connections")?;
        for &token in &ready {
            if token == STOP {
                return Ok(());
            }
            let (serves, listener) = &ports[token as usize];
            while let Some(stream) = accept(listener)? {
                serve(*serves, stream)?;
            }
        }
    }
}

/// Accepts the next connection. `None` when it ended before it could be accepted.
fn accept(listener: &TcpListener) -> Result<Option<TcpStream>> {
    use std::io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    match listener.accept() {
        Ok((stream, _)) => Ok(Some(stream)),
        Err(error) if matches!(error.kind(), WouldBlock | Interrupted | ConnectionAborted) => {
            Ok(None)
        }
        Err(error) => Err(error).context("cannot accept a connection"),
    }
}
