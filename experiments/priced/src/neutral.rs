//! `steer-bench priced neutral`: what a scheduler costs where it cannot help, by the guest's clock.
//! There is no traffic. Programs that only switch, wake and fork run under each scheduler.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use steer_ground::progress::Progress;
use steer_ground::style::Style;
use steer_ground::tool;
use steer_ground::word::Word;
use steer_lab::shape::Shape;
use steer_scenario::arm::Arm;
use steer_stats::{Ratio, median};

use crate::ab::check_arms;
use crate::bench::{Bench, BenchOptions, Branch};
use crate::guest::{Said, Task};
use crate::hardware::Hardware;
use crate::machine::Machine;
use crate::marks::{Cpu, MEASURED, Mark};
use crate::written::write_json;

const TEST: &str = include_str!("../neutral.sh");
const FILE: &str = "neutral.json";

/// A program that moves no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Program {
    /// `perf bench sched pipe`.
    Pipe,
    /// `perf bench sched messaging`.
    Messaging,
    /// Compilers, side by side.
    Compile,
}

impl Word for Program {
    const ALL: &'static [Self] = &[Self::Pipe, Self::Messaging, Self::Compile];

    fn word(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Messaging => "messaging",
            Self::Compile => "compile",
        }
    }
}

impl Program {
    /// Its two lengths: turns of the pipe, messages of each pair, functions of each unit.
    fn lengths(self) -> [u32; 2] {
        match self {
            Self::Pipe => [1000, 11_000],
            Self::Messaging => [10, 160],
            Self::Compile => [200, 2200],
        }
    }
}

/// What to run.
#[derive(Debug, Clone)]
pub struct NeutralOptions {
    /// The machine, by name or file.
    pub machine: String,
    /// Its CPUs.
    pub shape: Shape,
    /// The schedulers. The others are compared with the first.
    pub arms: Vec<Arm>,
    /// What to time.
    pub what: Vec<Program>,
    /// Runs of each arm.
    pub seeds: u32,
    /// Guests of each arm that boot; samples are copies of them.
    pub boots: u32,
    /// Schedulers, for the guest's /bin.
    pub programs: Vec<PathBuf>,
    /// Folder for the file.
    pub out: PathBuf,
    /// How to run guests.
    pub bench: BenchOptions,
}

/// A program under an arm: what its longer run took beyond the shorter one, by seed.
#[derive(Debug, Default, Serialize)]
struct Took {
    /// By the guest's clock.
    ms: Vec<f64>,
    /// Of all CPUs together.
    cpu_ms: Vec<f64>,
    /// The part of it in which they waited for memory.
    stall_ms: Vec<f64>,
    instructions: Vec<f64>,
}

/// Those of all arms and programs, by name.
type All = BTreeMap<String, BTreeMap<Program, Took>>;

/// Measures, writes the file and prints the table.
///
/// # Errors
/// When an arm is none for this, a program is missing on this machine, or a guest fails.
pub fn run(options: &NeutralOptions) -> Result<()> {
    ensure!(
        options.arms.iter().all(|arm| !arm.pinned && arm.tunings.is_empty()),
        "without traffic, there is nothing to pin or tune: use arms without pinning or settings"
    );
    check_arms(&options.arms, &options.programs)?;
    let machine = Machine::find(&options.machine)?;
    let first = options.arms.first().context("--arms names no arm")?;
    trunk(options, &machine, first, 0, &[]).hardware.check()?;
    let mut programs = options.programs.clone();
    for program in ["perf", "tcc"] {
        programs.push(tool::installed(program, "run make setup")?);
    }
    let progress = Progress::rounds(options.arms.len() as u64 * u64::from(options.seeds));
    let bench = Bench::new(&options.bench, &progress)?;
    programs.push(bench.tools.program("calibrate"));
    let (trunks, branches) = guests(options, &machine, &programs);
    let mut marks = BTreeMap::new();
    bench.run_branches(trunks, branches, &progress, |(arm, seed), name, said| {
        let these = measured(said, options.what.len()).with_context(|| name.to_owned())?;
        marks.insert((seed, &arm.name), these);
        Ok(())
    })?;
    drop(progress);
    let mut took = All::new();
    for ((_, arm), marks) in &marks {
        let of = took.entry((*arm).clone()).or_default();
        for (program, marks) in options.what.iter().zip(marks.chunks(2)) {
            of.entry(*program).or_default().add(&marks[0], &marks[1]);
        }
    }
    let path = write_json(&options.out, FILE, &took)?;
    print!("{}", table(options, &took));
    println!("\nAll runs: {}", path.display());
    Ok(())
}

/// The guests that boot, and the samples that are copies of them.
type Guests<'a> = (Vec<Task<'a>>, Vec<((&'a Arm, u32), Branch)>);

fn guests<'a>(
    options: &'a NeutralOptions,
    machine: &'a Machine,
    programs: &[PathBuf],
) -> Guests<'a> {
    let boots = options.boots.min(options.seeds);
    let each = |boot| options.arms.iter().map(move |arm| (boot, arm));
    let trunks = (0..boots).flat_map(each);
    let trunks = trunks.map(|(boot, arm)| trunk(options, machine, arm, boot, programs)).collect();
    let branches = (0..options.seeds).flat_map(|seed| {
        let first = (seed * boots / options.seeds) as usize * options.arms.len();
        (first..).zip(&options.arms).map(move |(trunk, arm)| {
            let name = format!("neutral {}, seed {seed}", arm.name);
            ((arm, seed), Branch { trunk, name, words: vec![("seed", seed.to_string())] })
        })
    });
    (trunks, branches.collect())
}

/// The guest of an arm, up to where seeds part.
fn trunk<'a>(
    options: &NeutralOptions,
    machine: &'a Machine,
    arm: &Arm,
    boot: u32,
    programs: &[PathBuf],
) -> Task<'a> {
    let what = options.what.iter().map(|program| {
        let [short, long] = program.lengths();
        format!("{}:{short}:{long}", program.word())
    });
    Task {
        name: format!("neutral {}, {}", machine.id, arm.name),
        hardware: Hardware::alone(machine, options.shape),
        test: TEST,
        words: vec![
            ("scheduler", arm.scheduler.as_ref().map_or_else(String::new, |argv| argv.join(" "))),
            ("programs", what.collect::<Vec<_>>().join(" ")),
        ],
        programs: programs.to_vec(),
        files: &[],
        profile: false,
        layout: boot,
    }
}

/// The marks of all runs: of each program the shorter one, then the longer.
///
/// # Errors
/// When the kernel complained, or the guest did not measure all of them.
fn measured(said: Said, programs: usize) -> Result<Vec<Mark>> {
    said.check_kernel()?;
    let marks: Vec<Mark> = said.marks.into_iter().filter(|mark| mark.mark == MEASURED).collect();
    ensure!(marks.len() == 2 * programs, "the guest measured {} runs", marks.len());
    Ok(marks)
}

impl Took {
    fn add(&mut self, short: &Mark, long: &Mark) {
        let sum = |mark: &Mark, of: fn(&Cpu) -> f64| mark.cpus.iter().map(of).sum::<f64>();
        let more = |of| sum(long, of) - sum(short, of);
        self.ms.push(1e3 * (long.seconds() - short.seconds()));
        self.cpu_ms.push(1e3 * more(Cpu::busy_s));
        self.stall_ms.push(1e3 * more(Cpu::stall_s));
        self.instructions.push(more(|cpu| cpu.instructions as f64));
    }
}

/// A line for each program and scheduler: medians, and the ratios to the first scheduler's.
fn table(NeutralOptions { arms, what, .. }: &NeutralOptions, took: &All) -> String {
    let mut table = Style::Terminal.table();
    let reference = &arms[0].name;
    let per = |what: &str| format!("{what} / {reference}'s");
    let header = ["program", "scheduler", "ms", &per("time"), "CPU ms", &per("CPU time")];
    table.set_header(header);
    for program in what {
        for Arm { name, .. } in arms {
            let columns = |of: fn(&Took) -> &Vec<f64>| {
                let [own, others] = [name, reference].map(|arm| of(&took[arm][program]));
                let pairs: Vec<_> =
                    own.iter().zip(others).map(|(&own, &other)| (Some(own), Some(other))).collect();
                let ratio = Ratio::paired(&pairs).filter(|_| name != reference);
                [
                    format!("{:.2}", median(own).unwrap_or(f64::NAN)),
                    ratio.map_or_else(String::new, |ratio| ratio.to_string()),
                ]
            };
            let ([ms, time], [cpu_ms, cpu_time]) = (columns(|it| &it.ms), columns(|it| &it.cpu_ms));
            table.add_row([program.word(), name, &ms, &time, &cpu_ms, &cpu_time]);
        }
    }
    format!("{table}\n")
}
