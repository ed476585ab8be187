//! What the checks ask of `scx_steer status`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::bench::Bench;

/// For a change of policy to take effect in an emulated guest under load.
const PATIENCE: Duration = Duration::from_secs(60);

/// The part of `scx_steer status --json` that checks look at.
#[derive(Debug, Deserialize)]
pub(super) struct Status {
    /// How often it was loaded again because it left before a CPU did.
    pub(super) left_early: u64,
    pub(super) programs: Vec<Program>,
    pub(super) nics: Vec<Nic>,
    pub(super) policy: Policy,
}

/// A loaded BPF program.
#[derive(Debug, Deserialize)]
pub(super) struct Program {
    pub(super) name: String,
    /// Instructions after the kernel's rewriting.
    pub(super) instructions: u32,
    /// Instructions that the verifier walked through; it stops at a million.
    pub(super) verified: u32,
}

/// A NIC with a known place.
#[derive(Debug, Deserialize)]
pub(super) struct Nic {
    pub(super) steering: Steering,
}

/// What scx_steer has learned of a NIC's steering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Steering {
    Follows,
    Fixed,
    Unknown,
}

/// The policy in force.
#[derive(Debug, Deserialize)]
pub(super) struct Policy {
    pub(super) rules: usize,
    pub(super) cgroups: usize,
    /// How often a new set of files was put in force.
    pub(super) reloads: usize,
    /// Why the files on disk are not in force.
    pub(super) refused: Option<String>,
}

/// The status now.
pub(super) fn status(bench: &mut Bench) -> Result<Status> {
    serde_json::from_str(&bench.script("scx_steer status --json")?).context("reading the status")
}

/// Waits until the policy's status is as wanted, and returns it.
pub(super) fn until(
    bench: &mut Bench,
    what: &str,
    wanted: impl Fn(&Policy) -> bool,
) -> Result<Policy> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let policy = status(bench)?.policy;
        if wanted(&policy) {
            return Ok(policy);
        }
        if Instant::now() >= deadline {
            bail!("not within {PATIENCE:?}: {what}; the status is {policy:?}");
        }
        bench.script("sleep 0.2")?;
    }
}
