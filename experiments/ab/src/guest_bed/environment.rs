//! What a result records about a guest, and about this machine, its host.

use anyhow::Result;

use crate::environment::{now, scx_steer_version};
use steer_ground::cpus::joined;
use steer_lab::emulator::Emulator;
use steer_lab::facts::{self, Facts};
use steer_lab::guest::{Guest, GuestOptions};
use steer_lab::qemu;
use steer_remote::About;
use steer_result::Environment;

/// Looks at both.
///
/// # Errors
/// The guest does not answer.
pub(super) fn read(
    guest: &mut Guest,
    options: &GuestOptions,
    facts: &Facts,
) -> Result<Environment> {
    let host = About::here();
    let nic = &facts.nics[0];
    Ok(Environment {
        started: now(),
        accelerator: Some(qemu::ACCELERATOR.to_owned()),
        kernel: Some(guest.link.read("/proc/sys/kernel/osrelease")?),
        kernel_package: guest.kernel.as_ref().map(|kernel| kernel.packages.join(", ")),
        shape: Some(options.shape.to_string()),
        cpus: u32::try_from(options.shape.cpus()).ok(),
        nic_node: u32::try_from(nic.node).ok(),
        nic_cpus: Some(joined(&nic.cpus)),
        nic_iommu: facts::iommu(&mut guest.link, &nic.name),
        arm_version: scx_steer_version(&mut guest.link)?,
        host_cpu: host.cpu,
        host_cpus: host.cpus,
        host_kernel: host.kernel,
        qemu: Emulator::find().ok().map(|emulator| emulator.version),
        ..Environment::default()
    })
}
