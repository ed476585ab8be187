//! What the scheduler's socket telemetry costs, on this kernel's loopback device. Prints the time per
//! send or receive with and without it, and kernel memory per socket. The two are interleaved. Open
//! sockets: 10 to 100,000, or as many as memory and fs.file-max allow. Messages: small ones that a
//! server answers, small ones one way, large ones as in bulk transfers. Needs root, but no sched_ext.
//!
//!     cargo run --release -p steer-bpf --example telemetry-cost [SOCKETS...]
//!
//! A process may open only so many files, so the sockets are spread over several; these take turns.
//! Their threads have the storage that the scheduler gives every thread, so the cost includes
//! charging them. A flow of the loopback device has no NIC, so the cost does not include the vote on
//! the home CPU.

use std::{
    fs,
    mem::MaybeUninit,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use steer_bpf::Telemetry;

use meter::Meter;
use shards::{Shards, Work};

// The thresholds do not matter for the cost, so these are the tests'.
#[path = "../../tests/common/mod.rs"]
mod common;
mod meter;
mod shards;

/// Name; work; bytes of a message; sends per timing (and as many receives), but at least one per pair.
/// The large message fits in the buffers of a new connection: one thread sends it, then receives it.
const KINDS: [(&str, Work, usize, usize); 3] = [
    ("512 answered", Work::Answers, 512, 200_000),
    ("512 one way", Work::OneWay, 512, 200_000),
    ("32768 one way", Work::OneWay, 32 << 10, 50_000),
];
/// Rounds of each kind: the first of these that fits in the time, else the last. Odd numbers, so that
/// one round is the median.
const ROUNDS: [u32; 3] = [7, 5, 3];
/// Time for all rounds of one kind.
const TIME: Duration = Duration::from_secs(75);
/// Kernel memory of a socket, its file and its storage: 4.3 KiB on 6.18, and room to spare.
const KIB_PER_SOCKET: usize = 5;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [first, nth, pairs] = &args[..]
        && first == shards::ARGUMENT
    {
        return shards::serve(nth.parse()?, pairs.parse()?);
    }
    let mut counts: Vec<usize> = args.iter().map(|n| n.parse()).collect::<Result<_, _>>()?;
    if counts.is_empty() {
        counts = vec![10, 1000, 100_000];
    }
    println!(
        "{:>8}  {:>13}  {:>10}  {:>10}  {:>24}  {:>6}  {:>6}  {:>12}  {:>10}",
        "sockets",
        "bytes",
        "without",
        "with",
        "added per event [all]",
        "rounds",
        "ratio",
        "in programs",
        "per socket"
    );
    for count in counts {
        if let Err(why) = has_room(count) {
            println!("{count:>8}  skipped: {why:#}");
            continue;
        }
        let mut shards = Shards::open((count / 2).max(1))?;
        for (kind, work, bytes, messages) in KINDS {
            measure(&mut shards, kind, |shards| shards.time(work, bytes, messages))?;
        }
    }
    Ok(())
}

/// Checks that so many sockets fit on this machine.
///
/// # Errors
/// Says what is missing.
fn has_room(sockets: usize) -> Result<()> {
    let (needed, available) = (sockets * KIB_PER_SOCKET, meminfo_kib("MemAvailable")? as usize);
    let gib = |kib: usize| kib as f64 / f64::from(1 << 20);
    let (needs, has) = (gib(needed), gib(available));
    ensure!(
        needed <= available,
        "needs about {needs:.1} GiB of memory, {has:.1} GiB are available"
    );

    let [open, _, most] = shards::numbers("/proc/sys/fs/file-nr")?;
    let files = open + sockets;
    ensure!(
        files <= most,
        "needs {files} open files, where all processes can have {most}: sysctl -w fs.file-max={}",
        files * 2
    );
    Ok(())
}

fn measure(
    shards: &mut Shards,
    kind: &str,
    time: impl Fn(&mut Shards) -> Result<f64>,
) -> Result<()> {
    let (sockets, threads) = (shards.sockets(), shards.threads());
    let begun = Instant::now();
    time(shards)?;
    let pass = begun.elapsed();
    // a round has three passes, the last one four
    let fits = |rounds: &u32| pass * (rounds * 3 + 1) <= TIME;
    let [.., least] = ROUNDS;
    let rounds = ROUNDS.into_iter().find(fits).unwrap_or(least);

    let (mut without, mut added) = (Vec::new(), Vec::new());
    let (mut slab, mut in_programs) = (0, 0.0);
    for round in 1..=rounds {
        let alone = time(shards)?;
        let before = meminfo_kib("Slab")?;
        let mut slot = MaybeUninit::uninit();
        let telemetry = Telemetry::attach(&mut slot, &common::settings())?;
        threads.iter().try_for_each(|thread| telemetry.follow(*thread))?;
        // the first event of a socket creates its storage
        time(shards)?;
        slab = slab.max(meminfo_kib("Slab")?.saturating_sub(before));
        let more = time(shards)? - alone;
        eprintln!(
            "{sockets} sockets, {kind}, round {round} of {rounds}: \
             {alone:.0} ns without, {more:.0} ns added"
        );
        without.push(alone);
        added.push(more);
        if round == rounds {
            shards.meter = Meter::counting(&telemetry)?;
            time(shards)?;
            in_programs = shards.meter.ns_per_event();
            shards.meter = Meter::default();
        }
        drop(telemetry);
        settle()?;
    }
    added.sort_by(f64::total_cmp);
    without.sort_by(f64::total_cmp);
    let (median, last) = (added.len() / 2, added.len() - 1);
    let (alone, more) = (without[median], added[median]);
    println!(
        "{sockets:>8}  {kind:>13}  {alone:>7.0} ns  {:>7.0} ns  {:>24}  {rounds:>6}  {:>6.3}  \
         {in_programs:>9.0} ns  {:>10}",
        alone + more,
        format!("{more:.0} ns [{:.0}, {:.0}]", added[0], added[last]),
        (alone + more) / alone,
        // with few sockets, other users of memory hide it
        if sockets >= 10_000 {
            format!("{} B", slab * 1024 / sockets as u64)
        } else {
            "–".into()
        },
    );
    Ok(())
}

/// Waits until the kernel has freed the sockets' storage. It does that later, which would disturb the
/// next timing.
fn settle() -> Result<()> {
    let mut before = meminfo_kib("Slab")?;
    loop {
        sleep(Duration::from_millis(500));
        let now = meminfo_kib("Slab")?;
        if now + 1024 > before {
            return Ok(());
        }
        before = now;
    }
}

/// A line of /proc/meminfo, in KiB.
fn meminfo_kib(name: &str) -> Result<u64> {
    let memory = fs::read_to_string("/proc/meminfo")?;
    let line = memory.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let value = line.with_context(|| format!("no {name} in /proc/meminfo"))?;
    Ok(value.trim().trim_end_matches(" kB").parse()?)
}
