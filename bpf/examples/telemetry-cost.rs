//! What the scheduler's socket telemetry costs, on this kernel's loopback device: time per send or
//! receive with it and without, interleaved, with 10 to 100,000 open sockets. Needs root, no
//! sched_ext.
//!
//!     cargo run --release -p steer-bpf --example telemetry-cost [SOCKETS...]
//!
//! Without sched_ext no thread has storage, so what an event adds to its thread's sums (some tens of
//! instructions) is not in it.

use std::{
    error::Error,
    fs,
    io::{Read, Write},
    mem::MaybeUninit,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::fd::{FromRawFd, OwnedFd},
    time::Instant,
};

use libbpf_rs::{libbpf_sys, query::ProgInfoIter};
use steer_bpf::Telemetry;

// Which thresholds hold does not matter for the cost: the tests' will do.
#[path = "../tests/common/mod.rs"]
mod common;

/// Sends and as many receives, per timing.
const MESSAGES: usize = 200_000;
/// Timings of each kind, in turns.
const ROUNDS: usize = 7;
/// Pairs that one address of the server is used for: there are 28,000 ports to connect from.
const PAIRS_PER_ADDRESS: usize = 20_000;

type Pair = (TcpStream, TcpStream);

fn main() -> Result<(), Box<dyn Error>> {
    // SAFETY: the struct is valid, and only read.
    unsafe {
        let all = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const all);
    }
    let mut counts: Vec<usize> =
        std::env::args().skip(1).map(|count| count.parse()).collect::<Result<_, _>>()?;
    if counts.is_empty() {
        counts = vec![10, 1000, 100_000];
    }
    println!(
        "{:>8}  {:>10}  {:>10}  {:>24}  {:>12}  {:>12}",
        "sockets", "without", "with", "added per event [all]", "in programs", "per socket"
    );
    for count in counts {
        measure(&connect(count / 2)?)?;
    }
    Ok(())
}

/// Connected pairs.
fn connect(pairs: usize) -> Result<Vec<Pair>, Box<dyn Error>> {
    let mut connected = Vec::with_capacity(pairs);
    while connected.len() < pairs {
        let nth = (connected.len() / PAIRS_PER_ADDRESS + 1) as u8;
        let listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, nth), 0))?;
        let address: SocketAddr = listener.local_addr()?;
        for _ in 0..PAIRS_PER_ADDRESS.min(pairs - connected.len()) {
            let client = TcpStream::connect(address)?;
            client.set_nodelay(true)?;
            connected.push((client, listener.accept()?.0));
        }
    }
    Ok(connected)
}

/// Nanoseconds per event of messages that go round all pairs.
fn time(pairs: &[Pair]) -> Result<f64, Box<dyn Error>> {
    let mut message = [0; 512];
    let start = Instant::now();
    for n in 0..MESSAGES {
        let (mut client, mut server) = (&pairs[n % pairs.len()].0, &pairs[n % pairs.len()].1);
        client.write_all(&message)?;
        server.read_exact(&mut message)?;
    }
    Ok(start.elapsed().as_nanos() as f64 / (2 * MESSAGES) as f64)
}

fn measure(pairs: &[Pair]) -> Result<(), Box<dyn Error>> {
    time(pairs)?;
    let (mut without, mut added) = (Vec::new(), Vec::new());
    let mut slab = 0;
    for _ in 0..ROUNDS {
        let alone = time(pairs)?;
        let before = slab_kib()?;
        let mut slot = MaybeUninit::uninit();
        let telemetry = Telemetry::attach(&mut slot, &common::settings())?;
        // the first event of a socket makes its storage
        time(pairs)?;
        slab = slab.max(slab_kib()?.saturating_sub(before));
        added.push(time(pairs)? - alone);
        without.push(alone);
        drop(telemetry);
    }
    let sockets = pairs.len() * 2;
    let touched = sockets.min(2 * MESSAGES);
    added.sort_by(f64::total_cmp);
    without.sort_by(f64::total_cmp);
    let (alone, more) = (without[ROUNDS / 2], added[ROUNDS / 2]);
    println!(
        "{sockets:>8}  {alone:>7.0} ns  {:>7.0} ns  {more:>7.0} ns [{:.0}, {:.0}]  {:>9.0} ns  {:>10} B",
        alone + more,
        added[0],
        added[ROUNDS - 1],
        in_programs(pairs)?,
        // too little to see among all else with few sockets
        if touched >= 10_000 { (slab * 1024 / touched as u64).to_string() } else { "–".into() },
    );
    Ok(())
}

/// Nanoseconds per run of the programs, as the kernel counts them; that counting costs time itself.
fn in_programs(pairs: &[Pair]) -> Result<f64, Box<dyn Error>> {
    let mut slot = MaybeUninit::uninit();
    let _telemetry = Telemetry::attach(&mut slot, &common::settings())?;
    time(pairs)?;
    // SAFETY: no memory is touched; the descriptor is ours, and counting ends when it is closed.
    let _counting = unsafe {
        let fd = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
        if fd < 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        OwnedFd::from_raw_fd(fd)
    };
    time(pairs)?;
    let (mut ns, mut runs) = (0, 0);
    for program in ProgInfoIter::default() {
        if program.name.to_string_lossy().starts_with("telemetry_") {
            ns += program.run_time_ns;
            runs += program.run_cnt;
        }
    }
    Ok(ns as f64 / runs as f64)
}

/// Kernel memory in slabs, in KiB.
fn slab_kib() -> Result<u64, Box<dyn Error>> {
    let memory = fs::read_to_string("/proc/meminfo")?;
    let line = memory.lines().find_map(|line| line.strip_prefix("Slab:"));
    Ok(line.ok_or("no Slab in /proc/meminfo")?.trim().trim_end_matches(" kB").parse()?)
}
