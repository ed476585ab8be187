//! `steer-bench lab contracts`: what operators of a shared host rely on. Groups of threads compete
//! in a guest, and each must get the CPU time that the kernel's own scheduler gives it: by nice,
//! policy, cpu.weight, cpu.idle, affinity and cpuset. Limits (cpu.max) must hold, and no runnable
//! thread may wait too long.
//!
//! Mixes are measured in blocks, alternately under both schedulers. If a mix seems to be broken, it
//! is measured again, up to three times in all, and the medians decide. A scheduler that is ejected
//! fails at once.

mod measure;
mod mix;
mod table;
mod verdict;

use std::path::PathBuf;
use std::slice;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use measure::Bench;
use mix::Mix;
use steer_ground::progress::Progress;
use steer_lab::fresh::Boots;
use steer_lab::guest::GuestOptions;
use steer_result::write_whole;
use steer_scenario::arm::{self, Arm};
use verdict::{Judged, Sample, judge};

/// Mixes that are measured under one scheduler before the other has its turn. Loading a scheduler
/// takes about as long as measuring one mix.
const BLOCK: usize = 6;
/// Measurements of a mix that seems to be broken.
const MOST_MEASURED: usize = 3;

/// Which mixes to measure, and under what.
#[derive(Debug, Clone)]
pub struct ContractsOptions {
    /// Only the mixes whose names contain this.
    pub only: String,
    /// The scheduler that is compared with the kernel's own.
    pub scheduler: Arm,
    /// Where to write everything as JSON.
    pub json: Option<PathBuf>,
    /// The guest.
    pub guest: GuestOptions,
}

/// What came of a mix.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Outcome {
    Judged(Judged),
    /// It could not be measured.
    Failed {
        mix: String,
        error: String,
    },
}

impl Outcome {
    fn kept(&self) -> bool {
        matches!(self, Self::Judged(judged) if judged.kept())
    }

    /// Whether to measure again. Not after an ejection, or any other failure.
    fn doubtful(&self) -> bool {
        matches!(self, Self::Judged(judged) if !judged.kept())
    }
}

/// What `--json` writes.
#[derive(Debug, Serialize)]
struct Report<'a> {
    kernel: &'a str,
    scheduler: &'a str,
    mixes: &'a [Outcome],
    /// What the guest's kernel complained about.
    complaints: &'a [String],
}

/// Measures all mixes, and prints a table.
///
/// # Errors
/// When the guest is lost, or a contract is broken.
pub fn run(options: ContractsOptions) -> Result<()> {
    let mixes = Mix::all()?;
    let mixes: Vec<&Mix> = mixes.iter().filter(|mix| mix.name.contains(&options.only)).collect();
    ensure!(!mixes.is_empty(), "no mix's name contains {:?}", options.only);
    let arm = &options.scheduler;
    ensure!(
        !arm.pinned && arm.tunings.is_empty(),
        "--scheduler {}: there is nothing to pin or tune here; name a scheduler",
        arm.name
    );
    arm::check_programs(slice::from_ref(arm), &options.guest.programs()?)?;
    options.guest.check_one_nic("lab contracts")?;
    let progress = Progress::rounds(mixes.len() as u64);
    let mut run = Run::start(&options, &progress)?;
    let mut outcomes = Vec::new();
    for block in mixes.chunks(BLOCK) {
        outcomes.extend(run.block(block)?);
    }
    let kernel = run.bench.guest.release.clone();
    let complaints = run.complaints;
    drop(progress);
    print!("{}", table::table(&outcomes, &arm.name));
    if let Some(path) = &options.json {
        let (mixes, complaints) = (&outcomes[..], &complaints[..]);
        let report = Report { kernel: &kernel, scheduler: &arm.name, mixes, complaints };
        write_whole(path, &(serde_json::to_string_pretty(&report)? + "\n"))?;
    }
    let kept = outcomes.iter().filter(|outcome| outcome.kept()).count();
    println!("{kept} kept, {} broken, on {kernel}", outcomes.len() - kept);
    ensure!(complaints.is_empty(), "the guest's kernel complains: {}", complaints.join(" | "));
    ensure!(kept == outcomes.len(), "{} broke contracts of a shared host", arm.name);
    Ok(())
}

/// The schedulers that are compared.
const BOTH: [usize; 2] = [0, 1];

/// A run over all blocks.
struct Run<'a> {
    options: &'a ContractsOptions,
    progress: &'a Progress,
    bench: Bench,
    boots: Boots,
    /// The kernel's own scheduler, and the other one.
    arms: [Arm; 2],
    /// The scheduler that is measured first in the next block.
    first: usize,
    complaints: Vec<String>,
}

impl<'a> Run<'a> {
    fn start(options: &'a ContractsOptions, progress: &'a Progress) -> Result<Self> {
        let bench = Bench::boot(&options.guest, progress)?;
        let arms = ["default".parse()?, options.scheduler.clone()];
        let boots = Boots::first();
        Ok(Self { options, progress, bench, boots, arms, first: 0, complaints: Vec::new() })
    }

    /// Measures the mixes of a block, and those that seem broken again.
    fn block(&mut self, mixes: &[&Mix]) -> Result<Vec<Outcome>> {
        let mut samples: Vec<[Vec<Sample>; 2]> = mixes.iter().map(|_| Default::default()).collect();
        let mut outcomes: Vec<Option<Outcome>> = mixes.iter().map(|_| None).collect();
        for _ in 0..MOST_MEASURED {
            let open: Vec<usize> = (0..mixes.len())
                .filter(|&mix| outcomes[mix].as_ref().is_none_or(Outcome::doubtful))
                .collect();
            if open.is_empty() {
                break;
            }
            let chosen: Vec<&Mix> = open.iter().map(|&mix| mixes[mix]).collect();
            let measured = self.once(&chosen)?;
            for (&mix, both) in open.iter().zip(measured) {
                let name = &mixes[mix].name;
                outcomes[mix] = Some(match both {
                    Ok(both) => {
                        for (samples, sample) in samples[mix].iter_mut().zip(both) {
                            samples.push(sample);
                        }
                        let [default, found] = &samples[mix];
                        Outcome::Judged(judge(mixes[mix], default, found))
                    }
                    Err(error) => {
                        Outcome::Failed { mix: name.clone(), error: format!("{error:#}") }
                    }
                });
            }
        }
        mixes.iter().for_each(|_| self.progress.advance());
        Ok(outcomes.into_iter().flatten().collect())
    }

    /// Measures mixes once under each scheduler. If the emulator breaks the guest, once more in a
    /// fresh one.
    fn once(&mut self, mixes: &[&Mix]) -> Result<Vec<Result<[Sample; 2]>>> {
        let mut turns: [Vec<Result<Sample>>; 2] = Default::default();
        for turn in BOTH {
            let arm = (self.first + turn) % BOTH.len();
            let measured = self.boots.run(
                &mut self.bench,
                self.progress,
                || Bench::boot(&self.options.guest, self.progress),
                |bench| bench.under(&self.arms[arm], mixes, self.progress),
            );
            turns[arm] = measured.with_context(|| self.arms[arm].name.clone())?;
        }
        // The order changes, so that a drift of the machine favours no scheduler.
        self.first = BOTH.len() - 1 - self.first;
        self.complaints.extend(self.bench.guest.complaints()?);
        let [default, found] = turns;
        Ok(default.into_iter().zip(found).map(|(default, found)| Ok([default?, found?])).collect())
    }
}
