//! The measured side: a sink for long flows (a thread per connection) and an RPC service (a few
//! epoll threads). Both do as little as they can, so that the kernel's work is what is measured.

mod long;
mod rpc;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use anyhow::{Context, Result};
use clap::{Args, value_parser};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::cpus::CpuList;
use super::long::Reads;
use super::stop::Stop;
use super::wire;
use long::Sinks;
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
    /// What becomes of the payload of long flows that come in.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    long_reads: Reads,
    /// Port of the RPC service.
    #[arg(long, value_name = "PORT", default_value_t = wire::RPC_PORT)]
    rpc_port: u16,
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

/// Serves until SIGINT or SIGTERM; prints `ready` once both ports listen.
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
    let rpc = listen(args.bind, args.rpc_port, "--rpc-port")?;
    let mut sinks = Sinks::new(args.long_reads, args.pin_long);
    let mut service = Service::start(args.rpc_threads, args.pin_rpc)?;
    println!("ready");
    accept_until(&stop, &long, &rpc, &mut sinks, &mut service)
}

fn listen(address: IpAddr, port: u16, flag: &str) -> Result<TcpListener> {
    let address = SocketAddr::new(address, port);
    let listener = TcpListener::bind(address).with_context(|| {
        format!("cannot listen on {address}; is another server running there? {flag} changes it")
    })?;
    // poll(2) may report a connection that is gone by the time it is accepted.
    listener.set_nonblocking(true).context("cannot make the listener non-blocking")?;
    Ok(listener)
}

fn accept_until(
    stop: &Stop,
    long: &TcpListener,
    rpc: &TcpListener,
    sinks: &mut Sinks,
    service: &mut Service,
) -> Result<()> {
    loop {
        let mut fds = [
            PollFd::new(stop, PollFlags::IN),
            PollFd::new(long, PollFlags::IN),
            PollFd::new(rpc, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error).context("cannot wait for connections"),
        }
        let [stopped, long_ready, rpc_ready] = fds.map(|fd| !fd.revents().is_empty());
        if stopped {
            // The process ends here, and its threads and connections with it.
            return Ok(());
        }
        if long_ready && let Some(stream) = accept(long)? {
            sinks.serve(stream)?;
        }
        if rpc_ready && let Some(stream) = accept(rpc)? {
            service.serve(stream)?;
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
