//! The measured side: sinks and sources of long flows (a thread per connection) and an RPC service (a
//! few epoll threads). All do as little as they can, so that the kernel's work is what is measured.

mod long;
mod rpc;

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::{Args, value_parser};
use socket2::{Domain, Socket, Type};

use super::cpus::CpuList;
use super::files;
use super::long::{Completions, Reads};
use super::poll::{Poller, Wants};
use super::stop::Stop;
use super::wire;
use long::{End, Ends};
use rpc::Service;

/// Flags of `steer-bench server`.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED))]
    bind: IpAddr,
    /// Port of the long-flow sink.
    #[arg(long, value_name = "PORT", default_value_t = wire::LONG_PORT)]
    long_port: u16,
    /// Port that sends long flows to who asks for them.
    #[arg(long, value_name = "PORT", default_value_t = wire::LONG_OUT_PORT)]
    long_out_port: u16,
    /// What becomes of the payload of long flows that come in.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    long_reads: Reads,
    /// Send long flows without copying them (MSG_ZEROCOPY); says at the end how many the kernel
    /// copied all the same.
    #[arg(long)]
    long_zerocopy: bool,
    /// Print on which CPU the thread of each incoming long flow runs and on which its packets arrive,
    /// at every change: `trace THREAD MILLISECONDS CPU PACKETS-ON`, by the monotonic clock.
    #[arg(long)]
    trace_long: bool,
    /// Port of the RPC service.
    #[arg(long, value_name = "PORT", default_value_t = wire::RPC_PORT)]
    rpc_port: u16,
    /// RPC connections to be ready for: every 4000 have a port of their own, the second 6801 after
    /// --rpc-port, the others behind it.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rpc_connections: u32,
    /// Threads that share the RPC connections.
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = value_parser!(u16).range(1..=1024))]
    rpc_threads: u16,
    /// Pin the threads of the long flows, one CPU each, in turns.
    #[arg(long, value_name = "LIST")]
    pin_long: Option<CpuList>,
    /// Pin every RPC thread to this set of CPUs.
    #[arg(long, value_name = "LIST")]
    pin_rpc: Option<CpuList>,
}

/// Serves until SIGINT or SIGTERM; prints `ready` once all ports listen.
///
/// # Errors
/// When a port is taken, a CPU to pin to is missing, or the process runs out of descriptors.
pub(crate) fn run(args: ServerArgs) -> Result<()> {
    let stop = Stop::on_signal()?;
    if let Some(cpus) = &args.pin_long {
        cpus.check().context("--pin-long")?;
    }
    if let Some(cpus) = &args.pin_rpc {
        cpus.check().context("--pin-rpc")?;
    }
    let long = listen(args.bind, args.long_port, "--long-port")?;
    let long_out = listen(args.bind, args.long_out_port, "--long-out-port")?;
    files::allow(args.rpc_connections.into())?;
    if let Some(doubt) = short_backlog(args.rpc_connections) {
        eprintln!("steer-bench: {doubt}");
    }
    let rpc = (0..wire::rpc_ports(args.rpc_connections)).map(|number| {
        let port = wire::rpc_port(args.rpc_port, number);
        listen(args.bind, port.context("--rpc-port leaves no room for more")?, "--rpc-port")
    });
    let rpc = rpc.collect::<Result<Vec<_>>>()?;
    let completions = args.long_zerocopy.then(Arc::<Completions>::default);
    let mut sinks = Ends::new(End::Sink(args.long_reads, args.trace_long), args.pin_long.clone());
    let mut sources = Ends::new(End::Source(completions.clone()), args.pin_long);
    let mut service = Service::start(args.rpc_threads, args.pin_rpc)?;
    println!("ready");
    let mut ports = vec![(Serves::Sinks, long), (Serves::Sources, long_out)];
    ports.extend(rpc.into_iter().map(|listener| (Serves::Rpc, listener)));
    accept_until(&stop, &ports, |serves, stream| match serves {
        Serves::Sinks => sinks.serve(stream),
        Serves::Sources => sources.serve(stream),
        Serves::Rpc => service.serve(stream),
    })?;
    if let Some(completions) = completions {
        let completed = completions.so_far();
        println!("{completed}");
        if let Some(doubt) = completed.doubt() {
            eprintln!("steer-bench: {doubt}");
        }
    }
    // The process ends here, and its threads and connections with it.
    Ok(())
}

/// Whether connections of a crowd may be turned away because they come faster than they are accepted.
fn short_backlog(connections: u32) -> Option<String> {
    let most = fs::read_to_string("/proc/sys/net/core/somaxconn").ok()?.trim().parse().ok()?;
    (connections.min(wire::CONNECTIONS_PER_PORT) > most).then(|| {
        format!(
            "a port may have {most} connections waiting, fewer than may come at a time; if clients time \
             out: sysctl net.core.somaxconn={}",
            wire::CONNECTIONS_PER_PORT
        )
    })
}

/// What connections to a port get.
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
        // All that may come to the port: none of them is turned away, however late it is accepted.
        socket.listen(wire::CONNECTIONS_PER_PORT as i32)?;
        Ok(socket.into())
    };
    let listener = listen().with_context(|| {
        format!("cannot listen on {address}; is another server running there? {flag} changes it")
    })?;
    // epoll(7) may report a connection that is gone by the time it is accepted.
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

/// The next connection; `None` when it vanished before it could be taken.
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
