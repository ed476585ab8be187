//! What a result records of the machines it was taken on. What cannot be found out stays unknown.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, json};

use super::arm::SUBJECT;
use super::host::Nic;
use super::layout::Layout;
use crate::guest::Link;
use crate::lab::emulator::Emulator;
use crate::lab::facts::{self, Facts, joined};
use crate::lab::guest::{Guest, GuestArgs};
use crate::lab::{qemu, tool};
use crate::remote::{About, Agent};
use crate::result::Environment;

/// A guest, and this machine, which hosts it.
///
/// # Errors
/// When the guest does not answer.
pub(super) fn of_guest(guest: &mut Guest, args: &GuestArgs, facts: &Facts) -> Result<Environment> {
    let host = About::here();
    let nic = &facts.nics[0];
    Ok(Environment {
        started: now(),
        accelerator: Some(qemu::ACCELERATOR.to_owned()),
        kernel: Some(guest.link.read("/proc/sys/kernel/osrelease")?),
        kernel_package: Some(guest.kernel.packages.join(", ")),
        shape: Some(args.shape.to_string()),
        cpus: u32::try_from(args.shape.cpus()).ok(),
        nic_node: u32::try_from(nic.node).ok(),
        nic_cpus: Some(joined(&nic.cpus)),
        nic_iommu: facts::iommu(&mut guest.link, &nic.name),
        subject_version: subject_version(&mut guest.link)?,
        host_cpu: host.cpu,
        host_cpus: host.cpus,
        host_kernel: host.kernel,
        qemu: Emulator::find().ok().map(|emulator| emulator.version),
        ..Environment::default()
    })
}

/// This host, and the machine that drives its traffic.
///
/// # Errors
/// When scx_steer cannot be asked for its version.
pub(super) fn of_host(
    link: &mut Link,
    nic: &Nic,
    layout: &Layout,
    agent: &Agent,
) -> Result<Environment> {
    let here = About::here();
    let cpus: usize = layout.nodes.iter().map(Vec::len).sum();
    let mut other = Map::new();
    other.insert("agent".to_owned(), json!(agent.name));
    other.insert("nic".to_owned(), json!(nic.name));
    other.insert("cpu".to_owned(), json!(here.cpu));
    Ok(Environment {
        started: now(),
        kernel: here.kernel,
        cpus: u32::try_from(cpus).ok(),
        nic_node: nic.node.and_then(|node| u32::try_from(node).ok()),
        nic_cpus: nic.cpus.as_ref().map(ToString::to_string),
        nic_iommu: facts::iommu(link, &nic.name),
        subject_version: subject_version(link)?,
        host_cpu: agent.about.cpu.clone(),
        host_cpus: agent.about.cpus,
        host_kernel: agent.about.kernel.clone(),
        other,
        ..Environment::default()
    })
}

/// What scx_steer says it is.
fn subject_version(link: &mut Link) -> Result<Option<String>> {
    let version = link.run(&[SUBJECT, "--version"], Duration::from_secs(30))?;
    Ok(version.success().then(|| version.stdout.trim().to_owned()))
}

/// RFC 3339, UTC.
fn now() -> Option<String> {
    said(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]))
}

/// The first line a program prints, if it runs.
fn said(command: &mut Command) -> Option<String> {
    tool::output(command, "asking for a version").ok()?.lines().next().map(str::to_owned)
}
