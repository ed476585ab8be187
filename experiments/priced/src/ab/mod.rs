//! `steer-bench priced ab`: the same workload under several arms, in the priced machine. Every
//! sample has a guest of its own, so arms need no order; a round is a seed. Results are saved after
//! every sample.

mod options;
mod sample;
mod task;

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use steer_ground::cpus::joined;
use steer_ground::progress::Progress;
use steer_ground::style::Style;
use steer_ground::tool;
use steer_ground::warning::Warning;
use steer_ground::word::Word;
use steer_lab::SCX_STEER;
use steer_result::{
    AbResult, Environment, Header, PRICED, Sample, Unfinished, Workload, summarize,
};

use crate::bench::{Bench, Branch};
use crate::guest::Task;
use crate::machine::Machine;
pub use options::AbOptions;
pub(crate) use options::check_arms;
pub(crate) use task::Which;

const RESULT: &str = "result.json";
const REPORT: &str = "report.html";

/// Measures, writes the files and prints the table. The result, which it returns, records `command`.
///
/// # Errors
/// When a sample fails, or the budget is used up. The samples before are saved, and the result says
/// that it is unfinished.
pub fn run(options: &AbOptions, command: Vec<String>) -> Result<AbResult> {
    run_in(options, command, |_| Ok(()))
}

/// The same, if what it would be measured in is accepted.
pub(crate) fn run_in(
    options: &AbOptions,
    command: Vec<String>,
    accept: impl FnOnce(&Environment) -> Result<()>,
) -> Result<AbResult> {
    options.check()?;
    let machine = Machine::find(&options.machine)?;
    let which = all(options);
    let progress = Progress::rounds(which.len() as u64);
    // What the model cannot hold should not wait for the emulator's build.
    for one in which.iter().take(1) {
        task::trunk(options, &machine, one, &[]).hardware.check()?;
    }
    let bench = Bench::new(&options.bench, &progress)?;
    let header = header(options, &machine, &bench, command)?;
    accept(&header.environment)?;
    let mut run = Run { options, header, samples: Vec::new() };
    fs::create_dir_all(&options.out)
        .with_context(|| format!("creating {}", options.out.display()))?;
    let planned = which.len();
    let (trunks, branches) = guests(options, &machine, &bench)?;
    let mut took = Duration::ZERO;
    let measured = bench.run_branches(trunks, branches, &progress, |which, name, said| {
        took += said.took;
        let read = sample::read(&which, options, &said).with_context(|| name.to_owned())?;
        run.add(read);
        run.save(Some(Unfinished { planned, error: None })).map(drop)
    });
    drop(progress);
    let error = measured.err();
    if run.samples.is_empty()
        && let Some(error) = error
    {
        return Err(error);
    }
    let unfinished =
        error.as_ref().map(|error| Unfinished { planned, error: Some(format!("{error:#}")) });
    let result = run.save(unfinished)?;
    print!("{}", steer_result::table(&result, Style::Terminal));
    println!(
        "a sample took {:.0} s, after its arm's boot and load, for {} s of the guest's time",
        took.as_secs_f64() / run.samples.len() as f64,
        options.duration_s
    );
    for file in [RESULT, REPORT] {
        println!("{}", options.out.join(file).display());
    }
    error.map_or(Ok(result), Err)
}

/// The guests that boot, one or more for each steering mode and arm, and the samples that are copies
/// of them.
pub(crate) type Guests<'a> = (Vec<Task<'a>>, Vec<(Which<'a>, Branch)>);

/// All guests of a comparison.
///
/// # Errors
/// When a program of the guest is not installed.
pub(crate) fn guests<'a>(
    options: &'a AbOptions,
    machine: &'a Machine,
    bench: &Bench,
) -> Result<Guests<'a>> {
    let programs = task::programs(options, bench)?;
    let all = all(options);
    let trunk_of = |it: &Which<'_>| (it.world, it.order, it.boot);
    // One sample of each trunk.
    let mut firsts: Vec<Which<'_>> = Vec::new();
    for it in &all {
        if firsts.iter().all(|first| trunk_of(first) != trunk_of(it)) {
            firsts.push(it.clone());
        }
    }
    let trunks = firsts.iter().map(|it| task::trunk(options, machine, it, &programs)).collect();
    let with_branch = |it: Which<'a>| {
        let trunk = firsts.iter().position(|first| trunk_of(first) == trunk_of(&it));
        let trunk = trunk.context("a sample without a guest")?;
        let branch = task::branch(options, machine, &it, trunk);
        Ok((it, branch))
    };
    Ok((trunks, all.into_iter().map(with_branch).collect::<Result<_>>()?))
}

/// Every sample: a steering mode after the other, and in each seed by seed, so that an unfinished
/// result has whole rounds first. Seeds that follow one another share a boot, so that few guests
/// are in memory.
fn all(options: &AbOptions) -> Vec<Which<'_>> {
    let boot = |number: u32| number * options.boots() / options.seeds;
    let seeds = (0..options.seeds).map(|number| (options.first_seed + number, boot(number)));
    let arms = || (0..).zip(&options.arms);
    options
        .worlds
        .iter()
        .flat_map(|&world| {
            seeds.clone().flat_map(move |(seed, boot)| {
                arms().map(move |(order, arm)| Which { world, arm, order, seed, boot })
            })
        })
        .collect()
}

/// A run as far as it came.
struct Run<'a> {
    options: &'a AbOptions,
    header: Header,
    samples: Vec<Sample>,
}

impl Run<'_> {
    fn add(&mut self, (sample, warnings): (Sample, Vec<Warning>)) {
        self.samples.push(sample);
        self.header.warnings.extend(warnings);
    }

    /// Writes all samples so far, in an order that does not depend on which guest ended first.
    fn save(&mut self, unfinished: Option<Unfinished>) -> Result<AbResult> {
        let place = |arm: &str| self.options.arms.iter().position(|it| it.name == arm);
        let turn = |world: &str| self.options.worlds.iter().position(|it| it.word() == world);
        self.samples.sort_by_key(|it| (turn(&it.mode), it.round, place(&it.arm)));
        let header = Header { unfinished, ..self.header.clone() };
        let result = summarize(header, self.samples.clone());
        result.write(&self.options.out.join(RESULT))?;
        steer_report::write(&result, &self.options.out.join(REPORT))?;
        Ok(result)
    }
}

/// What is known before the first sample.
fn header(
    options: &AbOptions,
    machine: &Machine,
    bench: &Bench,
    command: Vec<String>,
) -> Result<Header> {
    let layout = options.layout();
    let names: Vec<String> = options.arms.iter().map(|arm| arm.name.clone()).collect();
    let main_arm = names.iter().find(|name| *name == SCX_STEER).or(names.last());
    let main_arm = main_arm.context("--arms names no arm")?.clone();
    let scx_steer = tool::output(
        Command::new(options.scx_steer()?).arg("--version"),
        "asking for scx_steer's version",
    )?;
    let mut other = Map::new();
    let mut put = |key: &str, value: Value| other.insert(key.to_owned(), value);
    put("machine", json!(machine.id));
    put("machine_name", json!(machine.name));
    put("prices", json!(machine.prices()));
    put("model_sha256", json!(bench.tools.hash));
    put("mtu", json!(options.mtu));
    put("boots", json!(options.boots()));
    let started = tool::output(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]), "date");
    let environment = Environment {
        started: started.ok().map(|text| text.trim().to_owned()),
        accelerator: Some(PRICED.to_owned()),
        kernel: Some(bench.kernel.release.clone()),
        kernel_package: Some(bench.kernel.packages.join(", ")),
        shape: Some(options.shape.to_string()),
        cpus: u32::try_from(options.shape.cpus()).ok(),
        nic_node: u32::try_from(options.nics.nodes(options.shape).start).ok(),
        nic_cpus: Some(joined(&layout.long_cpus)),
        arm_version: Some(scx_steer.trim().to_owned()),
        qemu: Some(bench.tools.emulator.version.clone()),
        other,
        ..Environment::default()
    };
    let workload = Workload {
        warmup_s: options.warmup_s,
        duration_s: options.duration_s,
        ..options.workload.describe(&layout)
    };
    Ok(Header {
        main_arm,
        arms: names,
        command,
        options: options.options.clone(),
        seed: options.first_seed.into(),
        environment,
        workload,
        ..Header::default()
    })
}
