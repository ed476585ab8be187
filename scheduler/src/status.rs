//! `scx_steer status`: asks the running instance what is in force.

use std::fmt::Write;

use anyhow::{Result, anyhow};
use scx_stats::prelude::*;
use serde::{Deserialize, Serialize};
use steer_bpf::{ProgramSize, Steering};
use steer_policy::PlannedNic;

use crate::{cli::StatusArgs, limits::LimitsStatus, nic::HostStatus, policy::count, preflight};

/// What is in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Status {
    /// Version of the running program.
    pub(crate) version: String,
    pub(crate) pid: u32,
    /// Seconds since the scheduler was last loaded. It is loaded again after CPUs came or went.
    pub(crate) in_force_s: u64,
    /// How often the scheduler was loaded since the program started.
    pub(crate) loads: u64,
    /// How often it was loaded again because it left before a CPU did. Otherwise the kernel had
    /// reported that a CPU came or went.
    pub(crate) left_early: u64,
    /// The loaded BPF programs.
    pub(crate) programs: Vec<ProgramSize>,
    /// Number of CPUs and last-level caches in the plan.
    pub(crate) cpus: usize,
    pub(crate) caches: usize,
    /// Number of queues shared by CPUs: more than caches if large ones are divided.
    #[serde(default)]
    pub(crate) queues: usize,
    pub(crate) nics: Vec<NicStatus>,
    /// The CPUs now reserved for short-flow threads, such as `0-3,8`.
    pub(crate) reserved_cpus: String,
    pub(crate) limits: LimitsStatus,
    pub(crate) policy: PolicyStatus,
    #[serde(default)]
    pub(crate) host: HostStatus,
}

/// A NIC with a known place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NicStatus {
    pub(crate) name: String,
    /// The CPUs near it, such as `0-3,8`.
    pub(crate) local_cpus: String,
    /// Whether its packets follow threads: `follows`, `fixed`, or `unknown` until a thread moved.
    pub(crate) steering: Steering,
}

impl NicStatus {
    pub(crate) fn new(nic: &PlannedNic, steering: Steering) -> Self {
        Self { name: nic.name.clone(), local_cpus: nic.local_cpus.to_string(), steering }
    }
}

/// The policy files and what happened to them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PolicyStatus {
    /// The files in force.
    pub(crate) files: Vec<String>,
    pub(crate) rules: usize,
    /// How many cgroups have a policy other than the default.
    pub(crate) cgroups: usize,
    /// How often a new set of files was put in force, and how often a set was refused.
    pub(crate) reloads: u64,
    pub(crate) refusals: u64,
    /// Why the files on disk are not in force; null if they are.
    pub(crate) refused: Option<String>,
    /// What a rule asks for and does not get, such as more cores than there are.
    pub(crate) shortfalls: Vec<String>,
}

/// Prints the status of the running instance.
///
/// # Errors
/// No instance is running, or it does not answer.
pub(crate) fn run(args: &StatusArgs) -> Result<()> {
    let status = ask().map_err(|error| match preflight::in_force().as_deref() {
        Some(name) if name.starts_with("scx_steer") => error.context("scx_steer is in force, but"),
        Some(name) => anyhow!("scx_steer is not in force; {name} is"),
        None => anyhow!("scx_steer is not in force: `sudo scx_steer` loads it"),
    })?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&status)?);
    } else {
        print!("{}", status.text()?);
    }
    Ok(())
}

/// A running instance answers within a second. This bound is for one that hangs.
const PATIENCE_MS: u64 = 10_000;

/// Asks the running instance.
///
/// # Errors
/// None is running, or it does not answer.
pub(crate) fn ask() -> Result<Status> {
    let target = ("target".to_owned(), "status".to_owned());
    StatsClient::new()
        .connect(Some(PATIENCE_MS))
        .map_err(|error| error.context("its socket cannot be reached (try as root)"))?
        .request("stats", vec![target])
}

impl Status {
    /// Whether the packets of a NIC follow threads, as the status writes it.
    pub(crate) fn steering_of(&self, nic: &str) -> Option<String> {
        let nic = self.nics.iter().find(|it| it.name == nic)?;
        Some(
            match nic.steering {
                Steering::Follows => "follows",
                Steering::Fixed => "fixed",
                Steering::Unknown => "unknown",
            }
            .into(),
        )
    }

    fn text(&self) -> Result<String> {
        let mut out = String::new();
        let loads = if self.loads > 1 {
            format!("; loaded {} times because CPUs came or went", self.loads)
        } else {
            String::new()
        };
        let queues = if self.queues > self.caches {
            format!(" and {}", count(self.queues, "queue"))
        } else {
            String::new()
        };
        writeln!(
            out,
            "scx_steer {} (pid {}) in force for {} s on {} with {}{queues}{loads}",
            self.version,
            self.pid,
            self.in_force_s,
            count(self.cpus, "CPU"),
            count(self.caches, "last-level cache"),
        )?;
        for nic in &self.nics {
            let steering = match nic.steering {
                Steering::Follows => "packets follow threads",
                Steering::Fixed => "packets stay where they arrive, threads go to them",
                Steering::Unknown => "not known yet whether packets follow threads",
            };
            writeln!(out, "NIC {}: near CPUs {}; {steering}", nic.name, nic.local_cpus)?;
        }
        if self.nics.is_empty() {
            writeln!(out, "no NIC with a known place")?;
        }
        if !self.reserved_cpus.is_empty() {
            writeln!(out, "reserved for short flows now: CPUs {}", self.reserved_cpus)?;
        }
        self.limits.write(&mut out)?;
        self.policy.write(&mut out)?;
        self.host.write(&mut out)?;
        Ok(out)
    }
}

impl PolicyStatus {
    fn write(&self, out: &mut String) -> Result<()> {
        writeln!(
            out,
            "policy: {} in {}, for {}; reloaded {}, refused {}",
            count(self.rules, "rule"),
            count(self.files.len(), "file"),
            count(self.cgroups, "cgroup"),
            count(self.reloads as usize, "time"),
            count(self.refusals as usize, "time"),
        )?;
        for shortfall in &self.shortfalls {
            writeln!(out, "policy: {shortfall}")?;
        }
        if let Some(refused) = &self.refused {
            writeln!(out, "THE POLICY FILES ON DISK ARE NOT IN FORCE:\n{}", refused.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let nic = |name: &str, steering| NicStatus {
            name: name.into(),
            local_cpus: "2-3".into(),
            steering,
        };
        Status {
            version: "0.1.0".into(),
            pid: 42,
            in_force_s: 7,
            loads: 2,
            left_early: 1,
            programs: vec![ProgramSize {
                name: "steer_tick".into(),
                instructions: 100,
                verified: 2000,
            }],
            cpus: 4,
            caches: 2,
            queues: 4,
            nics: vec![nic("eth0", Steering::Follows), nic("eth1", Steering::Unknown)],
            reserved_cpus: "3".into(),
            limits: LimitsStatus::default(),
            policy: PolicyStatus {
                files: vec!["/etc/scx_steer/policy.d/50-web.toml".into()],
                rules: 1,
                cgroups: 3,
                reloads: 1,
                refusals: 2,
                refused: Some("50-web.toml:3:1: there is no key clas\n".into()),
                shortfalls: vec!["no room".into()],
            },
            host: HostStatus::example(),
        }
    }

    #[test]
    fn all_of_it_is_said() {
        insta::assert_snapshot!(status().text().unwrap());
    }

    #[test]
    fn what_is_sent_is_what_is_read() {
        let sent = serde_json::to_value(status()).unwrap();
        assert_eq!(sent["nics"][0]["steering"], "follows");
        assert_eq!(serde_json::from_value::<Status>(sent).unwrap(), status());
    }
}
