//! `steer-bench det`: the deterministic tier. The guest's clock counts instructions and nothing is
//! meant to come in from outside, so that the same seed gives the same run, to the last counter.
//! It does not always yet: `det selftest` says so, and is no part of `make test` until it passes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use rustix::fs::MemfdFlags;
use serde::Serialize;
use serde_json::Value;

use super::arm::SUBJECT;
use crate::lab::console::Console;
use crate::lab::guest::GuestArgs;
use crate::lab::initramfs;
use crate::lab::progress::Progress;
use crate::lab::qemu::{Machine, Tier};

/// Runs of 25 to 60 s were seen on an idle machine.
const LONGEST: Duration = Duration::from_secs(600);
/// What the guest's script prints before each part, and at the end.
const MARK: &str = "@@";
const END: &str = "@@end";

/// Flags of `steer-bench det`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DetArgs {
    #[command(subcommand)]
    command: Option<DetCommand>,
    #[command(flatten)]
    run: RunArgs,
}

/// What to do in the deterministic tier instead of one run.
#[derive(Debug, Subcommand)]
enum DetCommand {
    /// Run one seed twice and compare every counter, then another seed, which must differ.
    Selftest(RunArgs),
}

/// One run.
#[derive(Debug, Clone, Args)]
struct RunArgs {
    /// Which run: moves the start against the timer ticks and chooses the source ports.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(..1_000_000))]
    seed: u32,
    /// The scheduler: scx_steer, or default for the kernel's own.
    #[arg(long, value_name = "NAME", default_value = SUBJECT, value_parser = [SUBJECT, "default"])]
    scheduler: String,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    guest: GuestArgs,
}

/// What one run counted.
#[derive(Debug, PartialEq, Serialize)]
struct Counted {
    version: u32,
    seed: u32,
    scheduler: String,
    kernel: String,
    /// The observer's report.
    observe: Value,
    /// The client's report, in the guest's time.
    client: Value,
    /// Files of /proc at the end, by name.
    counters: BTreeMap<String, String>,
}

/// Runs it.
///
/// # Errors
/// When a run fails, or the self-test finds a difference where there must be none.
pub(crate) fn run(args: DetArgs) -> Result<()> {
    match args.command {
        None => {
            let counted = args.run.run(&Progress::spinner())?;
            if args.run.json {
                println!("{}", serde_json::to_string(&counted)?);
            } else {
                println!("{}", serde_json::to_string_pretty(&counted.observe)?);
            }
            Ok(())
        }
        Some(DetCommand::Selftest(args)) => selftest(&args),
    }
}

/// Twice the same seed, once another.
fn selftest(args: &RunArgs) -> Result<()> {
    let progress = Progress::rounds(3);
    let first = args.run(&progress)?;
    progress.advance();
    let again = args.run(&progress)?;
    progress.advance();
    let other = RunArgs { seed: args.seed + 1, ..args.clone() }.run(&progress)?;
    drop(progress);
    let differences = first.differences(&again);
    let same = differences.is_empty();
    println!("{} the same seed gives the same counters", if same { "ok" } else { "FAILED" });
    differences.iter().for_each(|difference| println!("    {difference}"));
    let moved = !first.differences(&other).is_empty();
    println!("{} another seed gives others", if moved { "ok" } else { "FAILED" });
    let passed = usize::from(same) + usize::from(moved);
    println!("{passed} passed, {} failed", 2 - passed);
    ensure!(passed == 2, "the deterministic tier is not what its name says");
    Ok(())
}

impl RunArgs {
    fn run(&self, progress: &Progress) -> Result<Counted> {
        let programs = self.guest.programs()?;
        let kernel = self.guest.source.get(&self.guest.kernel, progress)?;
        progress.step(format!("deterministic run, seed {}, {}", self.seed, self.scheduler));
        let initramfs = initramfs::pack(&kernel, &programs)?;
        let console = Console::default();
        let serial = rustix::fs::memfd_create("console", MemfdFlags::CLOEXEC)
            .context("making a file for the guest's console")?;
        let mode = format!("det lab.seed={} lab.scheduler={}", self.seed, self.scheduler);
        let machine = Machine {
            kernel: &kernel,
            initramfs: &initramfs,
            shape: self.guest.shape,
            tier: Tier::Deterministic(&serial),
            mode: &mode,
        };
        let mut qemu = machine.start(&console)?;
        let deadline = Instant::now() + LONGEST;
        while !qemu.ended()? {
            ensure!(Instant::now() < deadline, "no end within {LONGEST:?}; {}", console.tail());
            thread::sleep(Duration::from_millis(200));
        }
        let mut said = String::new();
        let mut serial = File::from(serial);
        serial.rewind().and_then(|()| serial.read_to_string(&mut said))?;
        said.lines().for_each(|line| console.push(line.trim_end()));
        let lines = console.lines();
        let mut parts = parts(&lines);
        if let Some(failure) = parts.remove("failed") {
            bail!("in the guest: {failure}; {}", console.tail());
        }
        let mut json = |name: &str| -> Result<Value> {
            let text = parts.remove(name).with_context(|| {
                format!("the guest ended without its {name} part; {}", console.tail())
            })?;
            serde_json::from_str(&text).with_context(|| format!("reading the {name} part"))
        };
        Ok(Counted {
            version: 1,
            seed: self.seed,
            scheduler: self.scheduler.clone(),
            kernel: kernel.release.clone(),
            observe: json("observe")?,
            client: json("client")?,
            counters: parts,
        })
    }
}

impl Counted {
    /// Where two runs differ: the first line that does of each part.
    fn differences(&self, other: &Self) -> Vec<String> {
        let reports = [
            ("observe", self.observe.to_string(), other.observe.to_string()),
            ("client", self.client.to_string(), other.client.to_string()),
        ];
        let reports = reports
            .into_iter()
            .filter(|(_, one, two)| one != two)
            .map(|(name, one, two)| format!("{name}: {one} became {two}"));
        let counters = self.counters.iter().filter_map(|(name, one)| {
            let two = other.counters.get(name).map_or("", String::as_str);
            let (one, two) = one.lines().zip(two.lines()).find(|(one, two)| one != two)?;
            Some(format!("{name}: {one} became {two}"))
        });
        reports.chain(counters).collect()
    }
}

/// Splits the console at the marks; what was said before the first is no part.
fn parts(lines: &[String]) -> BTreeMap<String, String> {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    let mut current = None;
    for line in lines.iter().take_while(|line| *line != END) {
        match (line.strip_prefix(MARK), &current) {
            (Some(name), _) => current = Some(name.to_owned()),
            (None, Some(name)) => parts.entry(name.clone()).or_default().extend([line, "\n"]),
            (None, None) => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(counters: &[(&str, &str)]) -> Counted {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        Counted {
            version: 1,
            seed: 1,
            scheduler: SUBJECT.to_owned(),
            kernel: String::new(),
            observe: Value::Null,
            client: Value::Null,
            counters: counters.iter().map(own).collect(),
        }
    }

    #[test]
    fn splits_the_console_into_parts() {
        let lines = ["boot", "@@a", "1", "2", "@@net/dev", "3", "@@end", "bye"];
        let parts = parts(&lines.map(str::to_owned));
        let expected = [("a", "1\n2\n"), ("net/dev", "3\n")];
        assert_eq!(parts, expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into());
    }

    #[test]
    fn shows_the_first_line_that_differs() {
        let one = counted(&[("stat", "cpu 1\nctxt 5\n")]);
        assert!(one.differences(&one).is_empty());
        let two = counted(&[("stat", "cpu 1\nctxt 6\n")]);
        assert_eq!(one.differences(&two), ["stat: ctxt 5 became ctxt 6"]);
    }
}
