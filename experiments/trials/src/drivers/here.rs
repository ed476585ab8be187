//! The trials inside the guest: the hidden command that `lab drivers` starts there.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use steer_ground::tool;

use super::device::{self, Device, NICSIM};
use super::{Outcome, Row, ports};
use crate::nic::modes;
use crate::nic::place::Place;
use crate::nic::subject::{Cut, Subject};

/// All modes that need no scheduler.
const MODES: [&str; 5] = ["align", "rfs", "arfs", "rules", "busy-poll"];

/// Loads these modules, tries all modes on all devices, prints the table as JSON.
///
/// # Errors
/// A device cannot be made. What the trials find is no error.
pub fn run(modules: &[PathBuf], scx_steer: &Path) -> Result<()> {
    for module in modules {
        tool::output(Command::new("insmod").arg(module), &format!("insmod {}", module.display()))?;
    }
    let folder = tempfile::tempdir().context("making a folder")?;
    let policy = folder.path().join("policy.toml");
    fs::write(&policy, ports::POLICY).with_context(|| format!("writing {}", policy.display()))?;
    let subject = Subject::new(scx_steer, folder.path())?.with_policy(&policy);
    let mut rows = table(&subject, &device::own()?);
    rows.extend(table(&subject, &device::stacked()?));
    println!("{}", serde_json::to_string(&rows)?);
    Ok(())
}

fn table(subject: &Subject, devices: &[Device]) -> Vec<Row> {
    let mut rows = Vec::new();
    for device in devices {
        for mode in MODES {
            let tried = tried(subject, device, mode);
            let (outcome, said) = tried.unwrap_or_else(|error| {
                // whatever is left, the next mode begins without it
                let _ = subject.run(&["restore"], None);
                (Outcome::Fault, format!("{error:#}"))
            });
            rows.push(Row { device: device.name.to_owned(), mode: mode.to_owned(), outcome, said });
        }
    }
    rows
}

fn tried(subject: &Subject, device: &Device, mode: &str) -> Result<(Outcome, String)> {
    let Device { place, .. } = device;
    let name = &place.interface;
    let before = (place.settings()?, subject.napi(name)?);
    let words = ["apply", name, "--mode", mode, "--cpus", "0-1"];
    let applied = subject.run(&words, None)?;
    let during = (place.settings()?, subject.napi(name)?);
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().replace('\n', "; ");
    if !applied.status.success() {
        ensure!(device.name != NICSIM, "{NICSIM} takes every mode: {}", said(&applied.stderr));
        ensure!(during == before, "a refused mode changed {before:?} to {during:?}");
        return Ok((Outcome::Refused, said(&applied.stderr)));
    }
    let arrived = match (mode, device.name) {
        ("rules", NICSIM) => Some(ports::check(name)?),
        ("arfs", NICSIM) => Some(ports::follow(name)?),
        _ => None,
    };
    let restored = subject.run(&["restore"], None)?;
    ensure!(restored.status.success(), "restore: {}", said(&restored.stderr));
    let after = (place.settings()?, subject.napi(name)?);
    ensure!(after == before, "{after:?} is left of {before:?}");
    if during == before {
        return Ok((Outcome::NoEffect, said(&applied.stdout)));
    }
    let mut said = vec![modes::one(place, subject, mode)?];
    said.extend(arrived);
    if mode == "rules" {
        said.push(killed_at_every_step(place, subject, &words)?);
    }
    Ok((Outcome::Works, said.join(", ")))
}

/// Kills the command before each of its steps in turn; `restore` has to put everything back.
fn killed_at_every_step(place: &Place, subject: &Subject, words: &[&str]) -> Result<String> {
    let before = place.settings()?;
    for step in 1.. {
        let applied = subject.run(words, Some(Cut::Die(step)))?;
        let (ended, why) = (applied.status, String::from_utf8_lossy(&applied.stderr));
        let killed = ended.signal() == Some(Signal::KILL.as_raw());
        ensure!(ended.success() || killed, "before step {step} it ended by itself: {why}");
        let restored = subject.run(&["restore"], None)?;
        let why = String::from_utf8_lossy(&restored.stderr);
        ensure!(restored.status.success(), "killed before step {step}, restore fails: {why}");
        let after = place.settings()?;
        ensure!(after == before, "killed before step {step}: {after:?} is left of {before:?}");
        if ended.success() {
            return Ok(format!("put back after each of {} kills", step - 1));
        }
    }
    unreachable!("it has fewer steps than there are numbers")
}
