//! What host steering has in force, for `scx_steer status`.

use std::fmt::Write;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use steer_nic::Proof;
use steer_policy::OnExit;

use super::duty::Duty;
use super::wishes::Wishes;

/// Host steering.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostStatus {
    /// What becomes of the settings at exit: `restore` or `keep`.
    pub(crate) on_exit: OnExit,
    /// NICs of which something is wanted.
    pub(crate) nics: Vec<HostNic>,
    /// How often a new host file was put in force, and how often one was refused.
    pub(crate) reloads: u64,
    pub(crate) refusals: u64,
    /// Why the file on disk is not in force; null if it is.
    pub(crate) refused: Option<String>,
    /// Why nothing can be done for any NIC; null if there is no such reason.
    pub(crate) trouble: Option<String>,
}

/// One NIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostNic {
    name: String,
    /// The mode that is wanted.
    wanted: String,
    /// The mode in force; null if none is.
    mode: Option<String>,
    /// How many settings differ from before.
    settings: usize,
    /// How many cores take its interrupts now, if that follows the load.
    cores: Option<usize>,
    /// What the mode `auto` knows.
    auto: Option<String>,
    /// Whether the mode `arfs` works.
    arfs: Option<String>,
    /// Why the mode is not in force.
    trouble: Option<String>,
    /// Settings that another program has changed since.
    foreign: Vec<String>,
}

/// The status of a moment.
pub(super) fn of(wishes: &Wishes, duty: &Duty, trouble: Option<String>) -> HostStatus {
    let nic = |(name, wish): (&String, &steer_policy::NicWish)| {
        let held = duty.journal.modes.iter().find(|held| held.device.name == *name);
        let of_it = |entry: &&steer_nic::Entry| {
            entry.setting.device.as_ref().is_some_and(|device| device.name == *name)
        };
        let changed = duty.journal.entries.iter().filter(of_it).filter(|it| !it.ours.is_empty());
        HostNic {
            name: name.clone(),
            wanted: wish.mode.to_string(),
            mode: held.map(|held| held.mode.to_string()),
            settings: changed.count(),
            cores: duty.followers.get(name).map(|follower| follower.pace.cores()),
            auto: duty.judges.get(name).map(|judge| judge.says().to_owned()),
            arfs: duty.proofs.get(name).map(Proof::says),
            trouble: duty.troubles.get(name).map(|trouble| trouble.why.clone()),
            foreign: duty.foreign.get(name).cloned().unwrap_or_default(),
        }
    };
    HostStatus {
        on_exit: wishes.on_exit(),
        nics: wishes.nics().iter().map(nic).collect(),
        reloads: wishes.reloads,
        refusals: wishes.refusals,
        refused: wishes.refused.clone(),
        trouble,
    }
}

impl HostStatus {
    /// As lines of text; none if nothing is wanted.
    pub(crate) fn write(&self, out: &mut String) -> Result<()> {
        for nic in &self.nics {
            write!(out, "host steering, NIC {}: {}", nic.name, nic.wanted)?;
            match (&nic.mode, nic.auto.as_ref().or(nic.arfs.as_ref())) {
                (_, Some(known)) => write!(out, " ({known})")?,
                (None, None) => out.push_str(", not in force"),
                (Some(_), None) => {}
            }
            if nic.mode.is_some() {
                write!(out, ", {} settings changed", nic.settings)?;
            }
            if let Some(cores) = nic.cores {
                write!(out, ", {} take its interrupts", crate::policy::count(cores, "core"))?;
            }
            writeln!(out)?;
            for foreign in &nic.foreign {
                writeln!(
                    out,
                    "host steering: {foreign} was changed by another program, and stays"
                )?;
            }
            if let Some(trouble) = &nic.trouble {
                writeln!(out, "host steering, NIC {}: {trouble}", nic.name)?;
            }
        }
        if !self.nics.is_empty() {
            let fate = match self.on_exit {
                OnExit::Restore => "go back",
                OnExit::Keep => "stay",
            };
            writeln!(out, "host steering: at exit, the settings {fate}")?;
        }
        if let Some(trouble) = &self.trouble {
            writeln!(out, "HOST STEERING CANNOT WORK: {trouble}")?;
        }
        if let Some(refused) = &self.refused {
            writeln!(out, "THE HOST FILE ON DISK IS NOT IN FORCE:\n{}", refused.trim_end())?;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn example() -> Self {
        let nic = |name: &str, mode: Option<&str>| HostNic {
            name: name.into(),
            wanted: "align".into(),
            mode: mode.map(str::to_owned),
            settings: 12,
            cores: None,
            auto: None,
            arfs: None,
            trouble: None,
            foreign: Vec::new(),
        };
        Self {
            nics: vec![
                HostNic { foreign: vec!["eth0 rx-0 RPS".into()], ..nic("eth0", Some("align")) },
                HostNic { trouble: Some("it cannot".into()), ..nic("eth1", None) },
                HostNic {
                    wanted: "auto".into(),
                    auto: Some("align helps".into()),
                    cores: Some(2),
                    ..nic("eth2", Some("align"))
                },
                HostNic {
                    wanted: "arfs".into(),
                    arfs: Some("the NIC installs rules".into()),
                    ..nic("eth3", Some("arfs"))
                },
            ],
            reloads: 1,
            refusals: 1,
            refused: Some("host.toml:1:1: there is no key clas\n".into()),
            ..Self::default()
        }
    }
}
