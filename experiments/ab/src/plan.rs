//! What a run of `steer-bench ab` is to measure: what goes together, and what follows from it.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::arms;
use super::host::{HostOptions, WORLD};
use super::memory;
use super::rounds::RoundsOptions;
use super::setup::Setup;
use super::unsupported;
use steer_ground::word::Word;
use steer_lab::guest::GuestOptions;
use steer_lab::shape::Nics;
use steer_lab::steering::Steering;
use steer_result::spec::Options;
use steer_scenario::arm::Arm;
use steer_scenario::workload::Workload;

pub(crate) const RESULT: &str = "result.json";
pub(crate) const REPORT: &str = "report.html";

/// What a run is to measure.
#[derive(Debug, Clone)]
pub struct AbPlan {
    /// How many rounds.
    pub rounds: RoundsOptions,
    /// Ways of steering packets to queues and CPUs to measure in.
    pub worlds: Vec<Steering>,
    /// What to compare.
    pub arms: Vec<Arm>,
    /// Whether to measure the first other arm a second time, as the arm `again`.
    pub a_a: bool,
    /// Options for scx_steer in its arm.
    pub steer_arg: Vec<String>,
    /// Seed of the order of arms and of the source ports.
    pub seed: u64,
    /// Folder for result.json, report.html and the guest's console.
    pub out: PathBuf,
    /// Settings that the run is about.
    pub setup: Setup,
    /// The traffic, and what runs beside it.
    pub workload: Workload,
    /// The guest.
    pub guest: GuestOptions,
    /// The options that make this plan, for the result.
    pub options: Options,
    /// This host, if it is to be measured rather than a guest.
    pub host: Option<HostOptions>,
}

impl AbPlan {
    /// Checks what the flags' types cannot.
    pub(crate) fn check(&self) -> Result<()> {
        self.workload.check()?;
        for (index, arm) in self.arms.iter().enumerate() {
            let twice = self.arms[..index].iter().any(|other| other.name == arm.name);
            ensure!(!twice, "--arms names {} twice", arm.name);
        }
        if self.host.is_some() {
            self.workload.check_own("the agent")?;
        } else {
            self.check_guest()?;
        }
        ensure!(
            !self.a_a || self.arms.len() > 1,
            "--a-a repeats what the main arm is compared with: name two arms in --arms"
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
    /// As [`unsupported::installed`], when a program that they ask for is not installed; as
    /// [`memory::check_here`].
    pub(crate) fn complete(&mut self) -> Result<()> {
        for arm in self.arms.iter_mut().filter(|arm| arm.is_own()) {
            arm.scheduler.get_or_insert_default().extend(self.steer_arg.iter().cloned());
        }
        // Only now: under its own name the repeated arm would not get the options.
        if self.a_a {
            arms::repeat(&mut self.arms);
        }
        if self.host.is_none() {
            memory::check_here(self.workload.most_rpc())?;
        }
        for needed in self.workload.needs() {
            let path = unsupported::installed(needed.program, needed.how)?;
            self.guest.extra.extend(needed.in_guest.then_some(path));
        }
        let tools = self.arms.iter().flat_map(|arm| &arm.tunings).filter_map(|it| it.needs());
        for tool in tools.chain(self.setup.needs()) {
            bring(tool, &mut self.guest.extra)?;
        }
        Ok(())
    }

    /// Where the result will be.
    pub(crate) fn result_path(&self) -> PathBuf {
        self.out.join(RESULT)
    }

    /// The worlds to measure in, by name.
    pub(crate) fn worlds(&self) -> Vec<&'static str> {
        match self.host {
            Some(_) => vec![WORLD],
            None => self.worlds.iter().map(|world| world.word()).collect(),
        }
    }

    /// Samples that are measured in any case.
    pub(crate) fn planned(&self) -> usize {
        self.worlds().len() * self.rounds.pairs as usize * self.arms.len()
    }
}

/// Takes a program into the guest, unless it is among those that the user brings.
///
/// # Errors
/// As [`unsupported::installed`].
fn bring((program, how): (&str, &str), programs: &mut Vec<PathBuf>) -> Result<()> {
    if !programs.iter().any(|known| known.ends_with(program)) {
        programs.push(unsupported::installed(program, how)?);
    }
    Ok(())
}
