//! `steer-bench ab`: the same workload under several arms, interleaved in random order, in each
//! steering mode, in one guest or on this host; results are saved after every round.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Error, Result};
use fastrand::Rng;

use super::arms;
use super::bed::Bed;
use super::guest_bed::{GuestBed, Make};
use super::host::HostBed;
use super::plan::{AbPlan, REPORT, RESULT};
use super::rounds::Next;
use super::sample::{self, Measured};
use super::topology;
use steer_ground::progress::Progress;
use steer_ground::style::Style;
use steer_ground::warning::{Kind, Place, Warning};
use steer_result::{AbResult, Header, Sample, Unfinished, summarize};
use steer_scenario::arm::Arm;

/// Runs a plan. The result records `command`.
///
/// # Errors
/// A sample fails. The samples before it are saved.
pub fn run(plan: AbPlan, command: Vec<String>) -> Result<()> {
    plan.check()?;
    let out = plan.out.clone();
    let result = measured(plan, command)?;
    print!("{}", steer_result::table(&result, Style::Terminal));
    for file in [RESULT, REPORT] {
        println!("{}", out.join(file).display());
    }
    Ok(())
}

/// Measures, and writes the files.
///
/// # Errors
/// As [`run`].
pub(super) fn measured(mut plan: AbPlan, command: Vec<String>) -> Result<AbResult> {
    plan.complete()?;
    fs::create_dir_all(&plan.out).with_context(|| format!("creating {}", plan.out.display()))?;
    let progress = Progress::rounds(plan.planned() as u64);
    measure(&plan, command, &progress)
}

/// The machine to measure.
fn bed<'a>(plan: &'a AbPlan, progress: &'a Progress) -> Result<Box<dyn Bed + 'a>> {
    let (guest, setup, out) = (&plan.guest, &plan.setup, plan.out.as_path());
    Ok(match &plan.host {
        Some(host) => Box::new(HostBed::make(host, guest, &plan.arms)?),
        None => Box::new(GuestBed::make(Make { guest, setup, out, progress })?),
    })
}

/// What is known of the run before its first sample.
fn header(plan: &AbPlan, command: Vec<String>, bed: &mut dyn Bed) -> Result<Header> {
    let mut warnings = bed.warnings()?;
    let unknown = |why: Error| {
        Warning::new(Kind::NoTopology, format!("the places of the CPUs are unknown: {why:#}"))
    };
    let nics: Vec<_> = bed.nics().into_iter().map(|nic| nic.name).collect();
    let topology = topology::read(bed.link(), &nics).map_err(|why| warnings.push(unknown(why)));
    Ok(Header {
        main_arm: arms::main(&plan.arms).to_owned(),
        arms: plan.arms.iter().map(|arm| arm.name.clone()).collect(),
        equal: arms::equal(&plan.arms),
        command,
        options: plan.options.clone(),
        seed: plan.seed,
        environment: bed.environment()?,
        topology: topology.ok(),
        workload: plan.workload.describe(bed.layout()),
        unfinished: None,
        warnings,
    })
}

/// Measures all rounds in all steering modes. If something fails, the samples so far are kept.
fn measure(plan: &AbPlan, command: Vec<String>, progress: &Progress) -> Result<AbResult> {
    let mut bed = bed(plan, progress)?;
    let mut run = Run { header: header(plan, command, &mut *bed)?, samples: Vec::new(), saved: 0 };
    sample::rehearse(&mut *bed, &plan.arms)?;
    let mut random = Rng::with_seed(plan.seed);
    let modes = plan.modes();
    let begun = Instant::now();
    for (nth, mode) in (1..).zip(&modes) {
        bed.turn(mode)?;
        if let Some(topology) = &mut run.header.topology {
            topology::look_at_queues(topology, bed.link(), mode);
        }
        let mut end = plan.rounds.end(begun, f64::from(nth) / modes.len() as f64);
        for round in 0.. {
            if let Err(error) = run.round(plan, &mut *bed, mode, round, &mut random, progress) {
                let saved = run.save_unfinished(plan, Some(format!("{error:#}")));
                return Err(match saved {
                    Ok(_) => error,
                    Err(unsaved) => error.context(format!("{unsaved:#}")),
                });
            }
            let so_far = run.save_unfinished(plan, None)?;
            match end.after(round + 1, so_far.modes.get(*mode)) {
                Next::Planned => {}
                Next::Further => progress.add(plan.arms.len() as u64),
                Next::Over(said) => {
                    let warning =
                        |said: String| Warning::new(Kind::OutOfBudget, said).at(&Place::mode(mode));
                    run.header.warnings.extend(said.map(warning));
                    break;
                }
            }
        }
    }
    let result = summarize(run.header.clone(), run.samples.clone());
    run.save(&result, plan)?;
    Ok(result)
}

/// The samples so far.
struct Run {
    header: Header,
    samples: Vec<Sample>,
    /// How many of them the file has.
    saved: usize,
}

impl Run {
    /// Measures every arm once, in random order.
    fn round(
        &mut self,
        plan: &AbPlan,
        bed: &mut dyn Bed,
        mode: &str,
        round: u32,
        random: &mut Rng,
        progress: &Progress,
    ) -> Result<()> {
        let (ports, step) = bed.source_ports();
        let source_port = random.u16(ports).next_multiple_of(step);
        let mut arms: Vec<&Arm> = plan.arms.iter().collect();
        random.shuffle(&mut arms);
        for (order, arm) in (0..).zip(arms) {
            let named = format!("{mode}, {}, {}", plan.rounds.name(round), arm.name);
            let place = Place::sample(mode, &arm.name, round);
            progress.step(named.clone());
            let taken = loop {
                match sample::take(bed, arm, &plan.workload, source_port) {
                    Ok(taken) => break taken,
                    Err(error) => {
                        let again = bed.recover(error).with_context(|| named.clone())?;
                        progress.say(&format!("{named}: {again}"));
                        let warning = Warning::new(Kind::TakenAgain, again).at(&place);
                        self.header.warnings.push(warning);
                    }
                }
            };
            let Measured { observe, client, hog_rate, cpu, warnings } = taken;
            let warnings = warnings.into_iter().map(|warning| warning.at(&place));
            self.header.warnings.extend(warnings);
            self.samples.push(Sample {
                mode: mode.to_owned(),
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

    /// Saves the samples so far, if there are any, with the error that ended the run.
    fn save_unfinished(&mut self, plan: &AbPlan, error: Option<String>) -> Result<AbResult> {
        let unfinished = Some(Unfinished { planned: plan.planned(), error });
        let header = Header { unfinished, ..self.header.clone() };
        let result = summarize(header, self.samples.clone());
        if !self.samples.is_empty() {
            self.save(&result, plan)?;
        }
        Ok(result)
    }

    /// Saves a result of all samples so far. It replaces the file.
    fn save(&mut self, result: &AbResult, plan: &AbPlan) -> Result<()> {
        let path = plan.result_path();
        result.write(&path).with_context(|| match self.saved {
            0 => "no sample of this run is saved".to_owned(),
            saved => format!("{} keeps the first {saved} samples", path.display()),
        })?;
        self.saved = self.samples.len();
        steer_report::write(result, &plan.out.join(REPORT))
    }
}
