//! The checks by the clock of the priced tier, without prices: the same checks, but each guest runs
//! its own, and drives its own traffic. So a slow or busy machine cannot fail them, and they repeat
//! exactly.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use steer_ground::progress::Progress;
use steer_ground::text::words;
use steer_priced::BenchOptions;
use steer_priced::clock::{self, Clocked};

use crate::sizes::RECORD;
use crate::{FAILED, GUESTS, PASSED, TestOptions};

/// Guests that run at a time. Each keeps one CPU of this machine busy.
const AT_ONCE: usize = 2;
/// Longest real time for all guests. They took 15 minutes of CPU.
const BUDGET: Duration = Duration::from_secs(3600);
/// Rates of the traffic, unless others are asked for. As fast as possible, it would keep all CPUs
/// busy, and most of what is emulated would be traffic while scx_steer loads.
const RATES: [(&str, &str); 2] = [("--long-rate", "10Mbit"), ("--rpc-rate", "500")];

/// Runs the `all` checks that were asked for. Returns how many failed.
pub(super) fn run(options: &TestOptions, all: usize, progress: &Progress) -> Result<usize> {
    let record = fs::read_to_string(RECORD)
        .with_context(|| format!("reading {RECORD}: run this in the project's folder"))?;
    let files = [(RECORD, record.as_str())];
    let programs = options.guest.programs()?;
    let guest = |(number, group): (usize, &'static crate::Group)| Clocked {
        name: group.name,
        shape: options.guest.shape,
        node_mib: options.guest.node_memory,
        network: group.network,
        kernel_words: format!("{} {}", options.guest.kernel_words, group.kernel_words),
        command: command(&options.flags, number),
        files: &files,
        programs: &programs,
    };
    let groups = GUESTS.iter().enumerate().filter(|(_, group)| !options.chosen(group).is_empty());
    let guests: Vec<Clocked<'_>> = groups.map(guest).collect();
    let bench = BenchOptions {
        kernel: options.guest.kernel.clone(),
        source: options.guest.source.clone(),
        at_once: AT_ONCE,
        budget: BUDGET,
    };
    let (mut passed, mut failed) = (0, 0);
    clock::run(&guests, &bench, progress, &mut |line| {
        let counted = [(PASSED, &mut passed), (FAILED, &mut failed)];
        if let Some((_, count)) = counted.into_iter().find(|(begin, _)| line.starts_with(begin)) {
            *count += 1;
            progress.say(line);
            progress.advance();
        }
    })?;
    ensure!(passed + failed == all, "only {} of {all} checks came to an end", passed + failed);
    Ok(failed)
}

/// The command for the checks of a guest: the flags of this one, and rates that they leave out.
fn command(flags: &[String], number: usize) -> Vec<String> {
    let mut command = words("steer-bench lab test");
    command.extend_from_slice(flags);
    for (flag, rate) in RATES {
        if !flags.iter().any(|given| given.starts_with(flag)) {
            command.extend([flag, rate].map(str::to_owned));
        }
    }
    command.extend(["--here".to_owned(), number.to_string()]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_gets_the_flags_of_this_program() {
        let flags = ["--only", "cpu.max is", "--rpc-rate=7"].map(str::to_owned);
        let expected = "steer-bench lab test --only|cpu.max is|--rpc-rate=7|--long-rate 10Mbit \
                        --here 1";
        let expected = expected.replace(' ', "|").replace("cpu.max|is", "cpu.max is");
        assert_eq!(command(&flags, 1).join("|"), expected);
    }
}
