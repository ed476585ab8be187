//! What a result records of the machines it was taken on. What cannot be found out stays unknown.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::arm::SUBJECT;
use crate::lab::emulator::Emulator;
use crate::lab::facts::{Facts, joined};
use crate::lab::guest::{Guest, GuestArgs};
use crate::lab::{qemu, tool};
use crate::remote::About;
use crate::result::Environment;

/// Looks at the guest and at this machine.
///
/// # Errors
/// When the guest does not answer.
pub(super) fn look(guest: &mut Guest, args: &GuestArgs, facts: &Facts) -> Result<Environment> {
    let version = guest.link.run(&[SUBJECT, "--version"], Duration::from_secs(30))?;
    let host = About::here();
    Ok(Environment {
        started: said(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])),
        accelerator: Some(qemu::ACCELERATOR.to_owned()),
        kernel: Some(guest.link.read("/proc/sys/kernel/osrelease")?),
        kernel_package: Some(guest.kernel.packages.join(", ")),
        shape: Some(args.shape.to_string()),
        cpus: u32::try_from(args.shape.cpus()).ok(),
        nic_node: u32::try_from(facts.nic_node).ok(),
        nic_cpus: Some(joined(&facts.nic_cpus)),
        subject_version: version.success().then(|| version.stdout.trim().to_owned()),
        host_cpu: host.cpu,
        host_cpus: host.cpus,
        host_kernel: host.kernel,
        qemu: Emulator::find().ok().map(|emulator| emulator.version),
        ..Environment::default()
    })
}

/// The first line a program prints, if it runs.
fn said(command: &mut Command) -> Option<String> {
    tool::output(command, "asking for a version").ok()?.lines().next().map(str::to_owned)
}
