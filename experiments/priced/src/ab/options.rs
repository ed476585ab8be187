//! What a run of `steer-bench priced ab` is to measure, and what the tier cannot do.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use steer_ground::tool;
use steer_lab::SCX_STEER;
use steer_lab::shape::{Nics, Shape};
use steer_lab::steering::Steering;
use steer_result::spec::Options;
use steer_scenario::arm::{self, Arm};
use steer_scenario::layout::Layout;
use steer_scenario::setup::Setup;
use steer_scenario::tuning::Tuning;
use steer_scenario::workload::Workload;

use crate::bench::BenchOptions;

/// What to measure.
#[derive(Debug, Clone)]
pub struct AbOptions {
    /// The machine, by name or file.
    pub machine: String,
    /// The measured CPUs. One more node of this kind drives the traffic.
    pub shape: Shape,
    /// The measured nodes that have a NIC.
    pub nics: Nics,
    /// Queues of each NIC, at most one for each measured CPU.
    pub queues: usize,
    /// Commands before anything is measured.
    pub setup: Setup,
    /// What to compare.
    pub arms: Vec<Arm>,
    /// Steering modes to measure in.
    pub worlds: Vec<Steering>,
    /// Runs of each arm in each mode.
    pub seeds: u32,
    /// Guests of each arm in each mode that boot. Each has a layout of memory of its own, and
    /// samples are copies of it.
    pub boots: u32,
    /// The first seed.
    pub first_seed: u32,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// The traffic. Its warm-up and duration are the next two instead: it has whole seconds.
    pub workload: Workload,
    /// Seconds of traffic before each sample, by the guest's clock.
    pub warmup_s: f64,
    /// Seconds of each sample.
    pub duration_s: f64,
    /// Folder of scx_steer and this program; other programs for the guest's /bin.
    pub programs: Vec<PathBuf>,
    /// Whether to profile every sample.
    pub profile: bool,
    /// Folder for the result.
    pub out: PathBuf,
    /// The options that were given, for the result.
    pub options: Options,
    /// How to run guests.
    pub bench: BenchOptions,
}

/// Checks the arms, and that the guest's programs exist.
///
/// # Errors
/// Names the arm or the program.
pub(crate) fn check_arms(arms: &[Arm], programs: &[PathBuf]) -> Result<()> {
    arm::check_names(arms)?;
    arm::check_programs(arms, programs)?;
    let missing = programs.iter().find(|path| !path.is_file());
    missing.map_or(Ok(()), |path| {
        bail!(
            "{} does not exist; build it first (cargo build --release), or say where it is",
            path.display()
        )
    })
}

impl AbOptions {
    /// Checks what the flags' types cannot.
    ///
    /// # Errors
    /// Names the flags, and what to do about them.
    pub(crate) fn check(&self) -> Result<()> {
        self.workload.check()?;
        let cpus = self.shape.cpus();
        ensure!(
            (1..=cpus).contains(&self.queues),
            "--queues {}: a NIC in the shape {} has 1 to {cpus} queues",
            self.queues,
            self.shape
        );
        check_arms(&self.arms, &self.programs)?;
        for arm in &self.arms {
            ensure!(
                arm.tunings.iter().all(|tuning| *tuning == Tuning::Align),
                "--arms {}: of the settings of arms, the priced tier has align only",
                arm.name
            );
        }
        ensure!(
            !self.layout().rpc_cpus.is_empty() || !self.arms.iter().any(|arm| arm.pinned),
            "the pinned arm puts RPCs on a node without a NIC, and there is none: use another --shape \
             or --nics, or leave it out (--arms default,scx_steer)"
        );
        self.brought().map(drop)
    }

    /// Programs of this machine that the guest needs beside `programs`.
    ///
    /// # Errors
    /// Names the one that is not installed, and how to do that.
    pub(super) fn brought(&self) -> Result<Vec<PathBuf>> {
        let servers = self.workload.needs().filter(|needed| needed.in_guest);
        let servers = servers.map(|needed| (needed.program, needed.how));
        let all = [("chrt", "run make setup")].into_iter().chain(servers).chain(self.setup.needs());
        all.map(|(program, how)| tool::installed(program, how)).collect()
    }

    /// The path of scx_steer: its observer measures every arm.
    pub(super) fn scx_steer(&self) -> Result<&PathBuf> {
        let found = self.programs.iter().find(|path| path.ends_with(SCX_STEER));
        found.context("scx_steer is missing: its observer measures every arm")
    }

    /// Guests of an arm that have a seed to run.
    pub(super) fn boots(&self) -> u32 {
        self.boots.min(self.seeds)
    }

    /// Runs of all arms together.
    pub(crate) fn samples(&self) -> usize {
        self.arms.len() * self.worlds.len() * self.seeds as usize
    }

    /// Where the server runs.
    pub(crate) fn layout(&self) -> Layout {
        let per_node = self.shape.cores * self.shape.threads;
        let nodes: Vec<Vec<usize>> = (0..self.shape.sockets)
            .map(|node| (node * per_node..(node + 1) * per_node).collect())
            .collect();
        let near = self.nics.nodes(self.shape);
        Layout {
            long_cpus: nodes[near.clone()].concat(),
            rpc_cpus: [&nodes[..near.start], &nodes[near.end..]].concat().concat(),
            nodes,
            address: Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    /// Addresses of the measured machine, one for each NIC.
    pub(super) fn servers(&self) -> Vec<IpAddr> {
        let nics = 0..self.nics.nodes(self.shape).len() as u8;
        nics.map(|nic| Ipv4Addr::new(10, 42, nic, 2).into()).collect()
    }
}
