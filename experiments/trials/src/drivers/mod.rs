//! `steer-bench lab drivers`: each mode of `scx_steer nic` on the network devices that a guest can
//! have. What works is set, read back, set again after the link went down and up, and put back; what
//! is refused has to say why, and to change nothing.

mod device;
mod here;
mod ports;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use steer_ground::progress::Progress;
use steer_ground::tool;
use steer_lab::guest::{Guest, GuestOptions};
use steer_lab::kernel::Kernel;
use steer_lab::shape::Nics;

pub use here::run as run_here;

/// Name of the hidden subcommand that tries the devices of the guest.
pub const HERE: &str = "drivers-here";
/// Real NICs that QEMU emulates, on a cable between them.
const DEVICES: &str = "-netdev hubport,id=spare0,hubid=9 -device e1000e,netdev=spare0,bus=pcie.0,romfile= \
                       -netdev hubport,id=spare1,hubid=9 -device igb,netdev=spare1,bus=pcie.0,romfile=";
/// The kernel may meet a packet of a queue that has just left, and warns of it (get_rps_cpu() in
/// net/core/dev.c, Linux 6.18 and 7.2).
const KNOWN_RACE: &str = " get_rps_cpu+";
/// All devices took three minutes; a busy machine may need several times that.
const LONGEST: Duration = Duration::from_secs(1200);

/// The guest, and where the table goes.
#[derive(Debug, Clone)]
pub struct DriversOptions {
    /// Also write the table to this file, as JSON.
    pub json: Option<PathBuf>,
    /// Further modules for the guest's kernel, in load order: of devices that Debian lacks.
    pub modules: Vec<PathBuf>,
    /// The guest, and the program under test.
    pub guest: GuestOptions,
}

/// What came of a mode on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Works,
    NoEffect,
    Refused,
    Fault,
}

/// One mode on one device.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    device: String,
    mode: String,
    outcome: Outcome,
    /// What scx_steer said, or what it has set.
    said: String,
}

/// Tries all devices, prints a table.
///
/// # Errors
/// A setting was not set, not kept or not put back; or the trials cannot be run.
pub fn run(mut options: DriversOptions) -> Result<()> {
    // the first NIC is the agent's
    options.guest.nics = Nics::EachNode;
    options.guest.devices = DEVICES;
    for (program, how) in [("ethtool", "apt install ethtool"), ("ip", "apt install iproute2")] {
        options.guest.extra.push(tool::installed(program, how)?);
    }
    options.guest.extra.extend(options.modules.iter().cloned());
    let progress = Progress::spinner();
    let mut guest = Guest::boot(&options.guest, None, &progress)?;
    progress.step(format!("modes on the devices of {}", guest.release));
    let release = guest.release.clone();
    let mut argv = vec!["/bin/steer-bench".to_owned(), HERE.to_owned()];
    let drivers = guest.kernel.as_ref().map_or(Ok(Vec::new()), Kernel::drivers)?;
    let drivers = drivers.iter().map(|module| ("/lib/modules", module));
    for (folder, module) in drivers.chain(options.modules.iter().map(|module| ("/bin", module))) {
        let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
        argv.extend(["--module".to_owned(), format!("{folder}/{name}")]);
    }
    argv.extend(["--scx-steer".to_owned(), "/bin/scx_steer".to_owned()]);
    let ran = guest.link.run(&argv, LONGEST);
    let finished = guest.survive(ran)??;
    ensure!(finished.success(), "trials in the guest failed: {}", finished.last_words());
    let rows: Vec<Row> =
        serde_json::from_str(finished.stdout.trim()).context("reading the table")?;
    let complaints = guest.complaints()?;
    drop(progress);
    println!("Kernel {release}");
    for Row { device, mode, outcome, said } in &rows {
        println!("{device:<28} {mode:<10} {:<10} {said}", outcome.word());
    }
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string_pretty(&rows)?)
            .with_context(|| format!("writing {}", path.display()))?;
    }
    let faults = rows.iter().filter(|row| row.outcome == Outcome::Fault).count();
    ensure!(faults == 0, "{faults} modes are at fault");
    // each such warning brings one call trace
    let known: Vec<_> = complaints.iter().filter(|line| line.contains(KNOWN_RACE)).collect();
    ensure!(
        complaints.len() <= 2 * known.len(),
        "the guest's kernel complains: {}",
        complaints.join(" | ")
    );
    known.iter().for_each(|line| println!("The kernel's own race as channels go: {line}"));
    Ok(())
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::NoEffect => "no effect",
            Self::Refused => "refused",
            Self::Fault => "FAULT",
        }
    }
}
