//! `steer-bench ab`: the same workload under several arms, interleaved in random order, in each
//! steering world, in one guest or on this host; results are saved after every round.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use fastrand::Rng;

use super::arm::{self, Arm};
use super::bed::Bed;
use super::guest_bed::{GuestBed, Plan};
use super::host::{self, HostArgs, HostBed};
use super::memory;
use super::rounds::{Next, RoundsArgs};
use super::sample::{self, Measured};
use super::setup::{self, SetupArgs};
use super::workload::WorkloadArgs;
use super::{topology, tuning};
use crate::lab::guest::GuestArgs;
use crate::lab::progress::Progress;
use crate::lab::shape::Nics;
use crate::lab::steering::Steering;
use crate::report;
use crate::result::{self, AbResult, Header, Sample, Style};

/// Flags of `steer-bench ab`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  steer-bench ab
  steer-bench ab --worlds hash --long-tool iperf3
  steer-bench ab --worlds hash --rpc-tool redis --rpc-threads 1
  steer-bench ab --worlds hash --arms default,default+rfs,scx_steer
  steer-bench ab --worlds hash --pairs 8 --until-interval 5 --budget 120 --a-a
  steer-bench ab --arms default,scx_steer,simple=scx_simple --with /usr/bin/scx_simple
  steer-bench ab --with old.toml --with new.toml \\
    --arms 'old=scx_steer --policy /bin/old.toml,new=scx_steer --policy /bin/new.toml'
  sudo steer-bench ab --agent 10.0.0.2:5299 --key-file steer.key --nic eth0 --arms default,scx_steer")]
pub(crate) struct AbArgs {
    #[command(flatten)]
    rounds: RoundsArgs,
    /// Ways of steering packets to queues and CPUs to measure in.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "auto,hash,explicit")]
    worlds: Vec<Steering>,
    /// What to compare: default, scx_steer, pinned, or NAME=COMMAND for another sched_ext
    /// scheduler, or scx_steer with a policy (bring programs and files into a guest with --with, they
    /// are in /bin). What follows a + is set for this arm's samples alone, as an operator would, and put
    /// back: default+rfs. There are +rfs; +irqbalance; +xps, each queue's interrupts and XPS on one
    /// CPU of the NIC's node; +nopause, no Ethernet pause frames; +shallow-idle, no idle state that
    /// takes longer to leave than the first that does not poll. Ratios are of scx_steer to the others;
    /// of the last arm, where it is not named.
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
    #[command(flatten)]
    host: HostArgs,
}

/// Runs it.
///
/// # Errors
/// At the first sample that fails; those before it are saved.
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
    args.complete()?;
    fs::create_dir_all(&args.out).with_context(|| format!("creating {}", args.out.display()))?;
    let progress = Progress::rounds(args.planned() as u64);
    measure(&args, command, &progress)
}

const RESULT: &str = "result.json";
pub(super) const REPORT: &str = "report.html";
/// How the warning begins that a result holds until all rounds are measured.
pub(super) const UNFINISHED: &str = "unfinished:";

impl AbArgs {
    /// Checks what the flags' types cannot.
    pub(super) fn check(&self) -> Result<()> {
        self.workload.check()?;
        for (index, arm) in self.arms.iter().enumerate() {
            let twice = self.arms[..index].iter().any(|other| other.name == arm.name);
            ensure!(!twice, "--arms names {} twice", arm.name);
        }
        if self.host.agent.is_some() {
            self.workload.check_own("the agent")?;
        } else {
            self.check_guest()?;
        }
        ensure!(
            !self.a_a || self.arms.len() > 1,
            "--a-a repeats what the subject is compared with: name two arms in --arms"
        );
        self.rounds.check(&self.arms)
    }

    /// The same of what the lab's guest can do.
    fn check_guest(&self) -> Result<()> {
        let guest = &self.guest;
        memory::check_guest(self.workload.most_rpc(), guest.shape.sockets, guest.node_memory)?;
        if self.arms.iter().any(|arm| arm.pinned) {
            ensure!(
                guest.nics == Nics::LastNode,
                "the pinned arm puts RPCs on a node without a NIC, and with --nics each-node there is \
                 none: leave it out (--arms default,scx_steer)"
            );
            ensure!(
                guest.shape.sockets > 1,
                "the pinned arm puts RPCs on another node than the NIC's: use a --shape with two \
                 nodes or leave it out of --arms"
            );
        }
        Ok(())
    }

    /// Fills in what follows from the flags.
    ///
    /// # Errors
    /// As [`setup::installed`], when a program that they ask for is not installed; as
    /// [`memory::check_here`].
    fn complete(&mut self) -> Result<()> {
        for arm in self.arms.iter_mut().filter(|arm| arm.is_own()) {
            arm.scheduler.get_or_insert_default().extend(self.steer_arg.iter().cloned());
        }
        // Only now: under its own name the repeated arm would not get the options.
        if self.a_a {
            arm::repeat(&mut self.arms);
        }
        if self.host.agent.is_none() {
            memory::check_here(self.workload.most_rpc())?;
        }
        for needed in self.workload.needs() {
            let path = setup::installed(needed.program, needed.how)?;
            self.guest.extra.extend(needed.in_guest.then_some(path));
        }
        let tools = self.arms.iter().flat_map(|arm| &arm.tunings).filter_map(|it| it.needs());
        for tool in tools.chain(self.setup.needs()) {
            tuning::bring(tool, &mut self.guest.extra)?;
        }
        Ok(())
    }

    /// Where the result will be.
    pub(super) fn result_path(&self) -> PathBuf {
        self.out.join(RESULT)
    }

    /// The machine to measure.
    fn bed<'a>(&'a self, progress: &'a Progress) -> Result<Box<dyn Bed + 'a>> {
        if self.host.agent.is_some() {
            return Ok(Box::new(HostBed::make(&self.host, &self.guest, &self.arms)?));
        }
        let (guest, setup, out) = (&self.guest, &self.setup, self.out.as_path());
        Ok(Box::new(GuestBed::make(Plan { guest, setup, out, progress })?))
    }

    /// The worlds to measure in, by name.
    fn worlds(&self) -> Vec<&'static str> {
        match self.host.agent {
            Some(_) => vec![host::WORLD],
            None => self.worlds.iter().map(|world| world.name()).collect(),
        }
    }

    /// Samples that are measured in any case.
    fn planned(&self) -> usize {
        self.worlds().len() * self.rounds.pairs as usize * self.arms.len()
    }

    fn header(&self, command: Vec<String>, bed: &mut dyn Bed) -> Result<Header> {
        let mut warnings = bed.doubts()?;
        let nics: Vec<_> = bed.nics().into_iter().map(|nic| nic.name).collect();
        let topology = topology::read(bed.link(), &nics)
            .map_err(|why| warnings.push(format!("where the CPUs are is not known: {why:#}")));
        Ok(Header {
            subject: arm::subject(&self.arms).to_owned(),
            arms: self.arms.iter().map(|arm| arm.name.clone()).collect(),
            equal: arm::equal(&self.arms),
            command,
            seed: self.seed,
            environment: bed.environment()?,
            topology: topology.ok(),
            workload: self.workload.describe(bed.layout()),
            warnings,
        })
    }
}

/// All rounds of all worlds; what is measured until something fails is kept.
fn measure(args: &AbArgs, command: Vec<String>, progress: &Progress) -> Result<AbResult> {
    let mut bed = args.bed(progress)?;
    let mut run = Run { header: args.header(command, &mut *bed)?, samples: Vec::new(), saved: 0 };
    tuning::rehearse(&mut *bed, &args.arms)?;
    let mut random = Rng::with_seed(args.seed);
    let worlds = args.worlds();
    let begun = Instant::now();
    for (nth, world) in (1..).zip(&worlds) {
        bed.turn(world)?;
        if let Some(topology) = &mut run.header.topology {
            topology::look_at_queues(topology, bed.link(), world);
        }
        let mut end = args.rounds.end(begun, f64::from(nth) / worlds.len() as f64);
        for round in 0.. {
            if let Err(error) = run.round(args, &mut *bed, world, round, &mut random, progress) {
                let saved = run.save_unfinished(args, &format!("; it ended with: {error:#}"));
                return Err(match saved {
                    Ok(_) => error,
                    Err(unsaved) => error.context(format!("{unsaved:#}")),
                });
            }
            let so_far = run.save_unfinished(args, "")?;
            match end.after(round + 1, so_far.worlds.get(*world)) {
                Next::Planned => {}
                Next::Further => progress.add(args.arms.len() as u64),
                Next::Over(said) => {
                    let said = said.map(|said| format!("{world}: {said}"));
                    run.header.warnings.extend(said);
                    break;
                }
            }
        }
    }
    let result = result::summarize(run.header.clone(), run.samples.clone());
    run.save(&result, args)?;
    Ok(result)
}

/// What a run has so far.
struct Run {
    header: Header,
    samples: Vec<Sample>,
    /// How many of them are in the file.
    saved: usize,
}

impl Run {
    /// Every arm once, in random order.
    fn round(
        &mut self,
        args: &AbArgs,
        bed: &mut dyn Bed,
        world: &str,
        round: u32,
        random: &mut Rng,
        progress: &Progress,
    ) -> Result<()> {
        let (ports, step) = bed.source_ports();
        let source_port = random.u16(ports).next_multiple_of(step);
        let mut arms: Vec<&Arm> = args.arms.iter().collect();
        random.shuffle(&mut arms);
        for (order, arm) in (0..).zip(arms) {
            let place = format!("{world}, {}, {}", args.rounds.name(round), arm.name);
            progress.step(place.clone());
            let taken = loop {
                match sample::take(bed, arm, &args.workload, source_port) {
                    Ok(taken) => break taken,
                    Err(error) => {
                        let again = bed.recover(error).with_context(|| place.clone())?;
                        self.header.warnings.push(format!("{place}: {again}"));
                        progress.say(&format!("{place}: {again}"));
                    }
                }
            };
            let Measured { observe, client, hog_rate, cpu, doubts } = taken;
            self.header.warnings.extend(doubts.iter().map(|doubt| format!("{place}: {doubt}")));
            self.samples.push(Sample {
                world: world.to_owned(),
                arm: arm.name.clone(),
                round,
                order,
                source_port,
                observe,
                client,
                hog_rate,
                cpu,
            });
            progress.advance();
        }
        Ok(())
    }

    /// Saves what there is, if there is anything.
    fn save_unfinished(&mut self, args: &AbArgs, why: &str) -> Result<AbResult> {
        let mut header = self.header.clone();
        let (have, all) = (self.samples.len(), args.planned());
        header.warnings.push(format!("{UNFINISHED} holds {have} of {all} samples{why}"));
        let result = result::summarize(header, self.samples.clone());
        if have > 0 {
            self.save(&result, args)?;
        }
        Ok(result)
    }

    /// Saves a result of all samples so far, in place of the one before.
    fn save(&mut self, result: &AbResult, args: &AbArgs) -> Result<()> {
        let path = args.result_path();
        result.write(&path).with_context(|| match self.saved {
            0 => "nothing of this run is saved".to_owned(),
            saved => format!("{} keeps the first {saved} samples", path.display()),
        })?;
        self.saved = self.samples.len();
        report::write(result, &args.out.join(REPORT))
    }
}
