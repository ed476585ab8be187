//! `steer-bench ab`: the same workload under several arms, interleaved in random order, in each
//! steering world, in one guest; results are saved after every round.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use fastrand::Rng;

use super::arm::{self, Arm, SUBJECT};
use super::bed::Bed;
use super::environment;
use super::rounds::{Next, RoundsArgs};
use super::sample::Measured;
use super::setup::SetupArgs;
use super::workload::{LongTool, WorkloadArgs};
use crate::lab::guest::GuestArgs;
use crate::lab::progress::Progress;
use crate::lab::steering::Steering;
use crate::report;
use crate::result::{self, AbResult, Header, Sample, Style};

/// Source ports of the rounds lie from here on: the client uses a thousand and some above.
const PORTS: std::ops::Range<u16> = 20_000..60_000;

/// Flags of `steer-bench ab`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench ab
  steer-bench ab --worlds hash --long-tool iperf3
  steer-bench ab --worlds hash --pairs 8 --until-interval 5 --budget 120 --a-a
  steer-bench ab --arms default,scx_steer,simple=scx_simple --with /usr/bin/scx_simple
  steer-bench ab --with old.toml --with new.toml \\
    --arms 'old=scx_steer --policy /bin/old.toml,new=scx_steer --policy /bin/new.toml'")]
pub(crate) struct AbArgs {
    #[command(flatten)]
    rounds: RoundsArgs,
    /// Ways of steering packets to queues and CPUs to measure in.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "auto,hash,explicit")]
    worlds: Vec<Steering>,
    /// What to compare: default, scx_steer, pinned, or NAME=COMMAND for another sched_ext
    /// scheduler, or scx_steer with a policy (bring programs and files with --with, they are in
    /// /bin). Ratios are of scx_steer to the others; of the last arm, where it is not named.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "default,scx_steer,pinned"
    )]
    arms: Vec<Arm>,
    /// Measure the first other arm a second time, as the arm `again`: its ratio to the first time
    /// shows the noise between equal arms, next to the effect.
    #[arg(long)]
    a_a: bool,
    /// An option for scx_steer in its arm; may be repeated.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    steer_arg: Vec<String>,
    /// Seed of the order of arms and of the source ports.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder for result.json, report.html and the guest's console.
    #[arg(long, value_name = "DIR", default_value = "target/ab")]
    out: PathBuf,
    #[command(flatten)]
    setup: SetupArgs,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    guest: GuestArgs,
}

/// Runs it.
///
/// # Errors
/// At the first sample that fails; the rounds before it are saved.
pub(crate) fn run(args: AbArgs) -> Result<()> {
    args.check()?;
    let out = args.out.clone();
    let result = measured(args, std::env::args().collect())?;
    print!("{}", result::table(&result, Style::Terminal));
    for file in [RESULT, REPORT] {
        println!("{}", out.join(file).display());
    }
    Ok(())
}

/// Measures; the files are written. `command` is what the result says it came from.
///
/// # Errors
/// As [`run`].
pub(super) fn measured(mut args: AbArgs, command: Vec<String>) -> Result<AbResult> {
    args.complete();
    fs::create_dir_all(&args.out).with_context(|| format!("creating {}", args.out.display()))?;
    let progress = Progress::rounds(args.planned() as u64);
    measure(&args, command, &progress)
}

const RESULT: &str = "result.json";
const REPORT: &str = "report.html";
/// Guests that one run may use up.
const MOST_BOOTS: u32 = 5;
const STALE_CODE: &str = "the emulator broke the guest (it ran stale code, which no hardware does); \
     the sample was taken in a fresh one";
/// How the warning begins that a result holds until all rounds are measured.
pub(super) const UNFINISHED: &str = "unfinished:";

impl AbArgs {
    /// Checks what the flags' types cannot.
    pub(super) fn check(&self) -> Result<()> {
        for (index, arm) in self.arms.iter().enumerate() {
            let twice = self.arms[..index].iter().any(|other| other.name == arm.name);
            ensure!(!twice, "--arms names {} twice", arm.name);
        }
        if self.arms.iter().any(|arm| arm.pinned) {
            ensure!(
                self.guest.shape.sockets > 1,
                "the pinned arm puts RPCs on another node than the NIC's: use a --shape with two \
                 nodes or leave it out of --arms"
            );
        }
        ensure!(
            !self.a_a || self.arms.len() > 1,
            "--a-a repeats what the subject is compared with: name two arms in --arms"
        );
        self.rounds.check(&self.arms)
    }

    /// Fills in what follows from the flags.
    fn complete(&mut self) {
        if self.a_a {
            arm::repeat(&mut self.arms);
        }
        for arm in self.arms.iter_mut().filter(|arm| arm.name == SUBJECT) {
            arm.scheduler.get_or_insert_default().extend(self.steer_arg.iter().cloned());
        }
        if self.workload.long_tool == LongTool::Iperf3 {
            self.guest.extra.push(PathBuf::from("/usr/bin/iperf3"));
        }
    }

    /// Samples that are measured in any case.
    fn planned(&self) -> usize {
        self.worlds.len() * self.rounds.pairs as usize * self.arms.len()
    }

    /// Where the result will be.
    pub(super) fn result_path(&self) -> PathBuf {
        self.out.join(RESULT)
    }

    /// Boots the guest, or one that takes its place.
    fn bed(&self, boot: u32, progress: &Progress) -> Result<Bed> {
        let log = if boot == 1 { "console.log".to_owned() } else { format!("console-{boot}.log") };
        Bed::make(&self.guest, &self.setup, &self.out.join(log), progress)
    }

    fn header(&self, command: Vec<String>, bed: &mut Bed) -> Result<Header> {
        let Bed { guest, facts, .. } = bed;
        Ok(Header {
            subject: arm::subject(&self.arms).to_owned(),
            arms: self.arms.iter().map(|arm| arm.name.clone()).collect(),
            equal: arm::equal(&self.arms),
            command,
            seed: self.seed,
            environment: environment::look(guest, &self.guest, facts)?,
            workload: self.workload.describe(facts),
            warnings: Vec::new(),
        })
    }
}

/// All rounds of all worlds.
fn measure(args: &AbArgs, command: Vec<String>, progress: &Progress) -> Result<AbResult> {
    let mut boots = 1;
    let mut bed = args.bed(boots, progress)?;
    let mut header = args.header(command, &mut bed)?;
    let mut random = Rng::with_seed(args.seed);
    let mut samples = Vec::new();
    let begun = Instant::now();
    for (nth, &world) in (1..).zip(&args.worlds) {
        bed.turn(world)?;
        let mut end = args.rounds.end(begun, f64::from(nth) / args.worlds.len() as f64);
        for round in 0.. {
            // With the port rule of `explicit`, flow i then meets queue i, and the CPU that an
            // operator who pins threads by hand gives it.
            let queues = bed.guest.net.queues().len() as u16;
            let source_port = random.u16(PORTS).next_multiple_of(queues);
            let mut arms: Vec<&Arm> = args.arms.iter().collect();
            random.shuffle(&mut arms);
            for (order, arm) in (0..).zip(arms) {
                let place = format!("{}, {}, {}", world.name(), args.rounds.name(round), arm.name);
                progress.step(place.clone());
                let taken = loop {
                    match bed.take(arm, &args.workload, source_port) {
                        Err(_) if bed.guest.ran_stale_code() && boots < MOST_BOOTS => {
                            boots += 1;
                            header.warnings.push(format!("{place}: {STALE_CODE}"));
                            progress.say(&format!("{place}: {STALE_CODE}"));
                            drop(bed);
                            bed = args.bed(boots, progress)?;
                            bed.turn(world)?;
                        }
                        taken => break taken.with_context(|| place.clone())?,
                    }
                };
                let Measured { observe, client, cpu, doubts } = taken;
                header.warnings.extend(doubts.iter().map(|doubt| format!("{place}: {doubt}")));
                samples.push(Sample {
                    world: world.name().to_owned(),
                    arm: arm.name.clone(),
                    round,
                    order,
                    source_port,
                    observe,
                    client,
                    cpu,
                });
                progress.advance();
            }
            let mut unfinished = header.clone();
            let (taken, planned) = (samples.len(), args.planned());
            unfinished.warnings.push(format!(
                "{UNFINISHED} holds {taken} samples, at least {planned} were to be taken"
            ));
            let so_far = result::summarize(unfinished, samples.clone());
            save(&so_far, &args.out)?;
            match end.after(round + 1, so_far.worlds.get(world.name())) {
                Next::Planned => {}
                Next::Further => progress.add(args.arms.len() as u64),
                Next::Over(said) => {
                    header.warnings.extend(said.map(|said| format!("{}: {said}", world.name())));
                    break;
                }
            }
        }
    }
    let result = result::summarize(header, samples);
    save(&result, &args.out)?;
    Ok(result)
}

fn save(result: &AbResult, out: &Path) -> Result<()> {
    result.write(&out.join(RESULT))?;
    report::write(result, &out.join(REPORT))
}
