//! `steer-bench priced profile`: in which functions of the kernel and the scheduler the measured
//! CPUs' time goes, under each arm, and how much of it they wait for memory.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use steer_ground::cpus::CpuList;
use steer_ground::progress::Progress;
use steer_ground::style::Style;

use crate::ab::{self, AbOptions};
use crate::bench::Bench;
use crate::guest::Said;
use crate::machine::Machine;

const FILE: &str = "profile.json";
/// What the programs' own code is called.
const PROGRAMS: &str = "(programs)";
/// Functions in the table.
const SHOWN: usize = 40;

/// What a function cost, per second of the guest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
struct Cost {
    instructions: f64,
    /// Time of the CPUs, in ms.
    ms: f64,
    /// Part of it that they waited for memory, in ms.
    stalled_ms: f64,
}

impl Cost {
    /// Adds a share of another's cost.
    fn add(&mut self, share: f64, other: Cost) {
        self.instructions += share * other.instructions;
        self.ms += share * other.ms;
        self.stalled_ms += share * other.stalled_ms;
    }
}

/// The functions of one sample, by name.
type Functions = BTreeMap<String, Cost>;

/// Measures, writes the file and prints the table: of these CPUs, or of all measured ones.
///
/// # Errors
/// When one of the CPUs is not measured, a guest fails, or its profile cannot be read.
pub fn run(options: &AbOptions, cpus: Option<&CpuList>) -> Result<()> {
    options.check()?;
    let measured = options.shape.cpus();
    if let Some(cpu) = cpus.and_then(|cpus| cpus.iter().find(|cpu| *cpu >= measured)) {
        bail!(
            "--cpus {cpu}: the measured CPUs of the shape {} end at {}",
            options.shape,
            measured - 1
        );
    }
    let machine = Machine::find(&options.machine)?;
    let progress = Progress::rounds(options.samples() as u64);
    let bench = Bench::new(&options.bench, &progress)?;
    let seeds = f64::from(options.seeds);
    let mut arms: Vec<(String, Functions)> =
        options.arms.iter().map(|arm| (arm.name.clone(), Functions::new())).collect();
    let (trunks, branches) = ab::guests(options, &machine, &bench)?;
    bench.run_branches(trunks, branches, &progress, |which, name, said| {
        let functions = functions(&said, cpus).with_context(|| name.to_owned())?;
        let sum = arms.iter_mut().find(|(name, _)| *name == which.arm.name);
        let (_, sum) = sum.context("a sample of no arm")?;
        let share = 1.0 / (seeds * options.worlds.len() as f64 * options.duration_s);
        for (name, cost) in functions {
            sum.entry(name).or_default().add(share, cost);
        }
        Ok(())
    })?;
    drop(progress);
    fs::create_dir_all(&options.out)
        .with_context(|| format!("creating {}", options.out.display()))?;
    let path = options.out.join(FILE);
    let by_arm: BTreeMap<&str, &Functions> =
        arms.iter().map(|(name, functions)| (name.as_str(), functions)).collect();
    fs::write(&path, serde_json::to_string_pretty(&by_arm)?)
        .with_context(|| format!("writing {}", path.display()))?;
    print!("{}", table(&arms));
    println!("\nAll functions: {}", path.display());
    Ok(())
}

/// The functions of a guest's kernel, on these CPUs or all.
fn functions(said: &Said, cpus: Option<&CpuList>) -> Result<Functions> {
    let symbols = symbols(said.part("symbols")?);
    let profile = said.profile.as_deref().context("the emulator wrote no profile")?;
    let mut functions = Functions::new();
    for line in profile.lines() {
        let (address, cpu, cost) = place(line).with_context(|| format!("reading {line:?}"))?;
        if cpus.is_some_and(|cpus| !cpus.contains(cpu)) {
            continue;
        }
        let name = match address {
            0 => PROGRAMS,
            _ => symbols.range(..=address).next_back().map_or("(unknown)", |(_, name)| *name),
        };
        functions.entry(name.to_owned()).or_default().add(1.0, cost);
    }
    Ok(functions)
}

/// Names of functions by address, as the guest prints them.
fn symbols(text: &str) -> BTreeMap<u64, &str> {
    let symbols = text.lines().filter_map(|line| {
        let (address, name) = line.split_once(' ')?;
        Some((u64::from_str_radix(address, 16).ok()?, name))
    });
    symbols.collect()
}

/// A line of the profile: address, CPU, instructions, their time and the stalls in ps.
fn place(line: &str) -> Option<(u64, usize, Cost)> {
    let mut words = line.split(' ');
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let cpu = words.next()?.parse().ok()?;
    let mut number = || words.next()?.parse::<f64>().ok();
    let (instructions, ps, stalled) = (number()?, number()?, number()?);
    let ms = |ps: f64| ps / 1e9;
    Some((address, cpu, Cost { instructions, ms: ms(ps + stalled), stalled_ms: ms(stalled) }))
}

/// The functions that cost most under any arm.
fn table(arms: &[(String, Functions)]) -> String {
    let mut names: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, cost) in arms.iter().flat_map(|(_, functions)| functions) {
        let most = names.entry(name).or_default();
        *most = most.max(cost.ms);
    }
    let mut names: Vec<(&str, f64)> = names.into_iter().collect();
    names.sort_by(|one, other| other.1.total_cmp(&one.1));
    let mut table = Style::Terminal.table();
    let mut heading = vec!["function".to_owned()];
    for (arm, _) in arms {
        heading.extend([format!("{arm}: ms/s"), "stalled".into(), "Minstr/s".into()]);
    }
    table.set_header(heading);
    let total = |functions: &Functions| {
        let mut sum = Cost::default();
        functions.values().for_each(|cost| sum.add(1.0, *cost));
        sum
    };
    let mut row = |name: &str, cost: &dyn Fn(&Functions) -> Cost| {
        let mut cells = vec![name.to_owned()];
        for (_, functions) in arms {
            let Cost { instructions, ms, stalled_ms } = cost(functions);
            cells.extend([
                format!("{ms:.2}"),
                format!("{stalled_ms:.2}"),
                format!("{:.2}", instructions / 1e6),
            ]);
        }
        table.add_row(cells);
    };
    row("all", &total);
    for (name, _) in names.into_iter().take(SHOWN) {
        row(name, &|functions| functions.get(name).copied().unwrap_or_default());
    }
    Style::Terminal.lines(table, 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn places_count_for_the_function_they_are_in() {
        let said = Said {
            parts: [("symbols".to_owned(), "ffff10 first\nffff20 second\n".to_owned())].into(),
            marks: Vec::new(),
            profile: Some(
                "ffff10 0 10 2000000000 0\nffff1f 1 5 1000000000 500000000\nffff21 0 7 0 0\n\
                 0 0 9 0 0\n8 0 1 0 0\n"
                    .to_owned(),
            ),
            took: Duration::ZERO,
        };
        let second: CpuList = "1".parse().unwrap();
        assert_eq!(functions(&said, Some(&second)).unwrap()["first"].instructions, 5.0);
        let functions = functions(&said, None).unwrap();
        let first = Cost { instructions: 15.0, ms: 3.5, stalled_ms: 0.5 };
        assert_eq!(functions["first"], first);
        assert_eq!(functions["second"].instructions, 7.0);
        assert_eq!(functions[PROGRAMS].instructions, 9.0);
        assert_eq!(functions["(unknown)"].instructions, 1.0);
        let text = table(&[("default".to_owned(), functions)]);
        assert!(text.lines().any(|line| line.contains("first") && line.contains("3.50")), "{text}");
    }
}
