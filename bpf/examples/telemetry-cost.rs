//! What the scheduler's socket telemetry costs, on this kernel's loopback device: time per send or
//! receive with it and without, interleaved, with 10 to 100,000 open sockets (or more, up to what
//! fs.nr_open and memory allow), of small messages as RPCs have and of large ones as bulk transfers
//! have; and kernel memory per socket. Needs root, no sched_ext.
//!
//!     cargo run --release -p steer-bpf --example telemetry-cost [SOCKETS...]
//!
//! The thread has the storage that the scheduler gives every thread, so charging it is in the cost.
//! A flow of the loopback device has no NIC, so the vote on the home CPU is not.

use std::{
    fs,
    io::{Read, Write},
    mem::MaybeUninit,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::fd::{FromRawFd, OwnedFd},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use libbpf_rs::{libbpf_sys, query::ProgInfoIter};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use steer_bpf::Telemetry;

// Which thresholds hold does not matter for the cost: the tests' will do.
#[path = "../tests/common/mod.rs"]
mod common;

/// Bytes of a message, and sends (and as many receives) per timing, or one per pair where that is
/// more. The large one fits in the buffers of a new connection: one thread sends it, then receives it.
const KINDS: [(usize, usize); 2] = [(512, 200_000), (32 << 10, 50_000)];
/// Timings of each kind, in turns.
const ROUNDS: usize = 7;
/// Pairs that one address of the server is used for: there are 28,000 ports to connect from, and
/// the kernel walks past all even ones that are taken before it tries an odd one.
const PAIRS_PER_ADDRESS: usize = 10_000;
/// Open files beside the sockets, with room to spare.
const OTHER_FILES: usize = 1000;
/// Kernel memory of a socket, its file and its storage: 4.3 on 6.18, and room to spare.
const KIB_PER_SOCKET: usize = 5;
/// How long nothing is said on stderr.
const QUIET: Duration = Duration::from_secs(3);

type Pair = (TcpStream, TcpStream);

fn main() -> Result<()> {
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
    let mut progress = Progress(Instant::now());
    for count in counts {
        if let Err(why) = make_room(count) {
            println!("{count:>8}  skipped: {why:#}");
            continue;
        }
        let begun = Instant::now();
        let pairs = connect(count / 2, &mut progress)?;
        Progress(begun).say(format!("{count} sockets are open after {:.1?}", begun.elapsed()));
        for (bytes, messages) in KINDS {
            let messages = messages.max(pairs.len());
            measure(&Load { pairs: &pairs, bytes, messages }, &mut progress)?;
        }
    }
    Ok(())
}

/// When something was last said of what takes long.
struct Progress(Instant);

impl Progress {
    /// Says how far it is, unless it is too early.
    fn say(&mut self, what: String) {
        if self.0.elapsed() >= QUIET {
            eprintln!("{what}");
            self.0 = Instant::now();
        }
    }
}

/// Raises the limit of open files for so many sockets.
///
/// # Errors
/// Says what they need that cannot be had here.
fn make_room(sockets: usize) -> Result<()> {
    let (needed, available) = (sockets * KIB_PER_SOCKET, meminfo_kib("MemAvailable")? as usize);
    let gib = |kib: usize| kib as f64 / f64::from(1 << 20);
    let (needs, has) = (gib(needed), gib(available));
    ensure!(
        needed <= available,
        "needs about {needs:.1} GiB of memory, {has:.1} GiB are available"
    );

    let files = (sockets + OTHER_FILES) as u64;
    let most: u64 = fs::read_to_string("/proc/sys/fs/nr_open")?.trim().parse()?;
    ensure!(
        files <= most,
        "needs {files} open files, where a process can have {most}: sysctl -w fs.nr_open={files}"
    );
    let hard = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit { current: Some(files), maximum: hard.map(|hard| hard.max(files)) };
    setrlimit(Resource::Nofile, raised).with_context(|| {
        format!(
            "needs {files} open files, and may not raise the hard limit (ulimit -Hn) to that: run \
             it with CAP_SYS_RESOURCE, or raise it where this session or container is started"
        )
    })
}

/// Connected pairs.
fn connect(pairs: usize, progress: &mut Progress) -> Result<Vec<Pair>> {
    let mut connected = Vec::with_capacity(pairs);
    while connected.len() < pairs {
        let nth = (connected.len() / PAIRS_PER_ADDRESS) as u32;
        let host = Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + nth);
        let listener = TcpListener::bind((host, 0))?;
        let address = listener.local_addr()?;
        for _ in 0..PAIRS_PER_ADDRESS.min(pairs - connected.len()) {
            let client = TcpStream::connect(address)?;
            client.set_nodelay(true)?;
            connected.push((client, listener.accept()?.0));
        }
        progress.say(format!("{} of {} sockets are open", connected.len() * 2, pairs * 2));
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
fn time(load: &Load<'_>) -> Result<f64> {
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

fn measure(load: &Load<'_>, progress: &mut Progress) -> Result<()> {
    let sockets = load.pairs.len() * 2;
    time(load)?;
    let (mut without, mut added) = (Vec::new(), Vec::new());
    let mut slab = 0;
    for round in 0..ROUNDS {
        progress.say(format!("{sockets} sockets, {} bytes: {round} of {ROUNDS}", load.bytes));
        let alone = time(load)?;
        let before = meminfo_kib("Slab")?;
        let mut slot = MaybeUninit::uninit();
        let telemetry = Telemetry::attach(&mut slot, &common::settings())?;
        telemetry.follow_this_thread()?;
        // the first event of a socket makes its storage
        time(load)?;
        slab = slab.max(meminfo_kib("Slab")?.saturating_sub(before));
        added.push(time(load)? - alone);
        without.push(alone);
        drop(telemetry);
    }
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
        if sockets >= 10_000 { (slab * 1024 / sockets as u64).to_string() } else { "–".into() },
    );
    Ok(())
}

/// Nanoseconds per run of the programs, as the kernel counts them; that counting costs time itself.
fn in_programs(load: &Load<'_>) -> Result<f64> {
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

/// A line of /proc/meminfo, in KiB.
fn meminfo_kib(name: &str) -> Result<u64> {
    let memory = fs::read_to_string("/proc/meminfo")?;
    let line = memory.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let value = line.with_context(|| format!("no {name} in /proc/meminfo"))?;
    Ok(value.trim().trim_end_matches(" kB").parse()?)
}
