//! `steer-bench lab neutral`: what scx_steer costs where nothing can be won. No traffic; programs
//! that only switch, wake and fork, timed under scx_steer and under the default scheduler in turn.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::arm::SUBJECT;
use super::scheduler;
use super::workload::words;
use crate::guest::Link;
use crate::lab::guest::{Guest, GuestArgs};
use crate::lab::progress::Progress;
use crate::stats::{Ratio, median};

/// Longest run of one program in an emulated guest.
const LONGEST: Duration = Duration::from_secs(120);
/// Writes the unit that `compile` compiles.
const WRITE_UNIT: &str = "i=0; while [ $i -lt 4000 ]; do echo \"int f$i(int x) { int y = x * $i; \
                          while (y > 3) y = y / 2 + f0(y); return y; }\"; i=$((i + 1)); done >/tmp/unit.c";
/// The programs, by name; each is timed as a whole.
const PROGRAMS: [(&str, &str); 3] = [
    ("messaging", "perf bench sched messaging --group 2 --nr_loops 50"),
    ("pipe", "perf bench sched pipe --loop 5000"),
    (
        "compile",
        "for i in 1 2 3 4 5 6 7 8; do tcc -w -c /tmp/unit.c -o /tmp/unit$i.o & done; wait; \
         test -s /tmp/unit8.o",
    ),
];

/// Flags of `steer-bench lab neutral`.
#[derive(Debug, Args)]
pub(crate) struct NeutralArgs {
    /// Rounds; in each, every program is timed once under each scheduler.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100))]
    pairs: u32,
    #[command(flatten)]
    guest: GuestArgs,
}

/// Times all programs and prints the ratios.
///
/// # Errors
/// When a program is missing on this machine or fails in the guest.
pub(crate) fn run(mut args: NeutralArgs) -> Result<()> {
    for program in ["perf", "tcc"] {
        let path = PathBuf::from("/usr/bin").join(program);
        ensure!(path.is_file(), "{} is not installed: run make setup", path.display());
        args.guest.extra.push(path);
    }
    let progress = Progress::rounds(u64::from(args.pairs));
    let mut guest = Guest::boot(&args.guest, None, &progress)?;
    shell(&mut guest.link, WRITE_UNIT).context("writing the unit to compile")?;
    let mut pairs = PROGRAMS.map(|_| Vec::new());
    for round in 0..args.pairs {
        progress.step(format!("round {} of {}", round + 1, args.pairs));
        // who goes first alternates, so that a drift of the machine favours neither
        let first = round % 2 == 0;
        let one = time_all(&mut guest.link, first)?;
        let two = time_all(&mut guest.link, !first)?;
        let (subject, reference) = if first { (one, two) } else { (two, one) };
        for ((pairs, subject), reference) in pairs.iter_mut().zip(subject).zip(reference) {
            pairs.push((Some(subject), Some(reference)));
        }
        progress.advance();
    }
    let complaints = guest.complaints()?;
    ensure!(complaints.is_empty(), "the guest's kernel complains: {}", complaints.join(" | "));
    drop(progress);
    print(&pairs);
    Ok(())
}

/// Seconds that each program takes, under scx_steer or under the default scheduler.
fn time_all(link: &mut Link, under_subject: bool) -> Result<[f64; PROGRAMS.len()]> {
    if under_subject {
        scheduler::load(link, &words(SUBJECT))?;
    }
    let mut seconds = [0.0; PROGRAMS.len()];
    for ((name, script), seconds) in PROGRAMS.iter().zip(&mut seconds) {
        let start = Instant::now();
        shell(link, script).with_context(|| format!("running {name}"))?;
        *seconds = start.elapsed().as_secs_f64();
    }
    if under_subject {
        scheduler::unload(link, libc::SIGINT)?;
    }
    Ok(seconds)
}

fn shell(link: &mut Link, script: &str) -> Result<()> {
    let finished = link.run(&["sh", "-c", script], LONGEST)?;
    ensure!(finished.success(), "{}", finished.last_words());
    Ok(())
}

/// Seconds under scx_steer and under the default scheduler, as [`Ratio::of_pairs`] takes them.
type Pair = (Option<f64>, Option<f64>);

fn print(pairs: &[Vec<Pair>]) {
    println!("{:<10} {:>10} {:>10}  time, scx_steer/default", "program", "default s", SUBJECT);
    for ((name, _), pairs) in PROGRAMS.iter().zip(pairs) {
        let column = |pick: fn(&Pair) -> Option<f64>| {
            median(&pairs.iter().filter_map(pick).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        let ratio = Ratio::of_pairs(pairs, 1).map_or("-".to_owned(), |ratio| ratio.to_string());
        println!(
            "{name:<10} {:>10.2} {:>10.2}  {ratio}",
            column(|pair| pair.1),
            column(|pair| pair.0)
        );
    }
}
