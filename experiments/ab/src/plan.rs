//! The plan of a run of `steer-bench ab`: checks it, and fills in what follows from the flags.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::arms;
use super::host::{HostOptions, MODE};
use super::memory;
use super::rounds::RoundsOptions;
use super::unsupported;
use steer_ground::word::Word;
use steer_lab::guest::GuestOptions;
use steer_lab::shape::Nics;
use steer_lab::steering::Steering;
use steer_result::spec::Options;
use steer_scenario::arm::{self, Arm};
use steer_scenario::setup::Setup;
use steer_scenario::workload::Workload;

pub(crate) const RESULT: &str = "result.json";
pub(crate) const REPORT: &str = "report.html";

/// What to measure in a run.
#[derive(Debug, Clone)]
pub struct AbPlan {
    /// How many rounds.
    pub rounds: RoundsOptions,
    /// Steering modes to measure in.
    pub modes: Vec<Steering>,
    /// The arms to compare.
    pub arms: Vec<Arm>,
    /// Whether to measure the first other arm a second time, as the arm `again`.
    pub a_a: bool,
    /// Options for scx_steer in its arm.
    pub steer_arg: Vec<String>,
    /// Seed of the order of arms and of the source ports.
    pub seed: u64,
    /// Folder for result.json, report.html and the guest's console.
    pub out: PathBuf,
    /// Settings that the experiment varies.
    pub setup: Setup,
    /// The traffic, and what runs beside it.
    pub workload: Workload,
    /// The guest.
    pub guest: GuestOptions,
    /// The given options, for the result.
    pub options: Options,
    /// How to measure this host. `None`: measure a guest.
    pub host: Option<HostOptions>,
}

impl AbPlan {
    /// Checks how the flags combine, which their types cannot.
    pub(crate) fn check(&self) -> Result<()> {
        self.workload.check()?;
        arm::check_names(&self.arms)?;
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

    /// Checks what a guest of the lab cannot do.
    fn check_guest(&self) -> Result<()> {
        let guest = &self.guest;
        memory::check_guest(self.workload.most_rpc(), guest.shape.sockets, guest.node_memory)?;
        if self.arms.iter().any(|arm| arm.pinned) {
            ensure!(
                guest.nics != Nics::EachNode,
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
    /// As [`unsupported::installed`] for each program that the plan needs, and as
    /// [`memory::check_here`] and [`arm::check_programs`].
    pub(crate) fn complete(&mut self) -> Result<()> {
        for arm in self.arms.iter_mut().filter(|arm| arm.is_own()) {
            arm.scheduler.get_or_insert_default().extend(self.steer_arg.iter().cloned());
        }
        // Repeat the arm after this: under the name `again` it would not get the options.
        if self.a_a {
            arms::repeat(&mut self.arms);
        }
        if self.host.is_none() {
            memory::check_here(self.workload.most_rpc())?;
            arm::check_programs(&self.arms, &self.guest.programs()?)?;
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

    /// The file for the result.
    pub(crate) fn result_path(&self) -> PathBuf {
        self.out.join(RESULT)
    }

    /// Names of the steering modes to measure in.
    pub(crate) fn modes(&self) -> Vec<&'static str> {
        match self.host {
            Some(_) => vec![MODE],
            None => self.modes.iter().map(|mode| mode.word()).collect(),
        }
    }

    /// The least number of samples.
    pub(crate) fn planned(&self) -> usize {
        self.modes().len() * self.rounds.pairs as usize * self.arms.len()
    }
}

/// Adds a program to the guest, unless the user already did.
///
/// # Errors
/// As [`unsupported::installed`].
fn bring((program, how): (&str, &str), programs: &mut Vec<PathBuf>) -> Result<()> {
    if !programs.iter().any(|known| known.ends_with(program)) {
        programs.push(unsupported::installed(program, how)?);
    }
    Ok(())
}
