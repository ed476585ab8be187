//! What the scheduler's socket telemetry costs, on this kernel's loopback device: time per send or
//! receive with it and without, interleaved, with 10 to 100,000 open sockets, of small messages as
//! RPCs have and of large ones as bulk transfers have. Needs root, no sched_ext.
//!
//!     cargo run --release -p steer-bpf --example telemetry-cost [SOCKETS...]
//!
//! The thread has the storage that the scheduler gives every thread, so charging it is in the cost.
//! A flow of the loopback device has no NIC, so the vote on the home CPU is not.

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

/// Bytes of a message, and sends (and as many receives) per timing. The large one fits in the
/// buffers of a new connection: one thread sends it, then receives it.
const KINDS: [(usize, usize); 2] = [(512, 200_000), (32 << 10, 50_000)];
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
        "{:>8}  {:>8}  {:>10}  {:>10}  {:>24}  {:>6}  {:>12}  {:>10}",
        "sockets",
        "bytes",
        "without",
        "with",
        "added per event [all]",
        "ratio",
        "in programs",
        "per socket"
    );
    for count in counts {
        let pairs = connect(count / 2)?;
        for (bytes, messages) in KINDS {
            measure(&Load { pairs: &pairs, bytes, messages })?;
        }
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

/// Messages that go round all pairs.
struct Load<'a> {
    pairs: &'a [Pair],
    bytes: usize,
    messages: usize,
}

/// Nanoseconds per event.
fn time(load: &Load<'_>) -> Result<f64, Box<dyn Error>> {
    let mut message = vec![0; load.bytes];
    let start = Instant::now();
    for n in 0..load.messages {
        let pair = &load.pairs[n % load.pairs.len()];
        let (mut client, mut server) = (&pair.0, &pair.1);
        client.write_all(&message)?;
        server.read_exact(&mut message)?;
    }
    Ok(start.elapsed().as_nanos() as f64 / (2 * load.messages) as f64)
}

fn measure(load: &Load<'_>) -> Result<(), Box<dyn Error>> {
    time(load)?;
    let (mut without, mut added) = (Vec::new(), Vec::new());
    let mut slab = 0;
    for _ in 0..ROUNDS {
        let alone = time(load)?;
        let before = slab_kib()?;
        let mut slot = MaybeUninit::uninit();
        let telemetry = Telemetry::attach(&mut slot, &common::settings())?;
        telemetry.follow_this_thread()?;
        // the first event of a socket makes its storage
        time(load)?;
        slab = slab.max(slab_kib()?.saturating_sub(before));
        added.push(time(load)? - alone);
        without.push(alone);
        drop(telemetry);
    }
    let sockets = load.pairs.len() * 2;
    let touched = sockets.min(2 * load.messages);
    added.sort_by(f64::total_cmp);
    without.sort_by(f64::total_cmp);
    let (alone, more) = (without[ROUNDS / 2], added[ROUNDS / 2]);
    println!(
        "{sockets:>8}  {:>8}  {alone:>7.0} ns  {:>7.0} ns  {:>24}  {:>6.3}  {:>9.0} ns  {:>8} B",
        load.bytes,
        alone + more,
        format!("{more:.0} ns [{:.0}, {:.0}]", added[0], added[ROUNDS - 1]),
        (alone + more) / alone,
        in_programs(load)?,
        // too little to see among all else with few sockets
        if touched >= 10_000 { (slab * 1024 / touched as u64).to_string() } else { "–".into() },
    );
    Ok(())
}

/// Nanoseconds per run of the programs, as the kernel counts them; that counting costs time itself.
fn in_programs(load: &Load<'_>) -> Result<f64, Box<dyn Error>> {
    let mut slot = MaybeUninit::uninit();
    let telemetry = Telemetry::attach(&mut slot, &common::settings())?;
    telemetry.follow_this_thread()?;
    time(load)?;
    // SAFETY: no memory is touched; the descriptor is ours, and counting ends when it is closed.
    let _counting = unsafe {
        let fd = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
        if fd < 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        OwnedFd::from_raw_fd(fd)
    };
    time(load)?;
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
