//! Runs guests of the deterministic tier, all from one root file system: rebuilding a program
//! meanwhile does not change the next run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::MemfdFlags;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::counted::Counted;
use super::options::{DEFAULT, PINNED, RunOptions, Watcher, Workload};
use super::{bpf_cost, pipe, traffic};
use steer_ground::cpus::CpuList;
use steer_ground::progress::Progress;
use steer_ground::text::hex;
use steer_ground::tool;
use steer_ground::word::Word;
use steer_lab::SCX_STEER;
use steer_lab::built::Turn;
use steer_lab::console::Console;
use steer_lab::emulator::Emulator;
use steer_lab::initramfs;
use steer_lab::kernel::Kernel;
use steer_lab::parts;
use steer_lab::qemu::{Machine, Tier};
use steer_lab::shape::{Nics, Shape};

/// Longest run for each 16 CPUs of the guest, or part of them. With 4 CPUs, runs took 25 to 60 s on an
/// idle machine, and 260 s on a busy one; with 64, up to 900 s.
const LONGEST: Duration = Duration::from_secs(900);

/// How often it is seen whether a guest has ended.
const LOOK: Duration = Duration::from_millis(50);

/// Whether this machine lets a guest run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Host {
    /// Whenever the machine has a CPU for it.
    AsItIs,
    /// Three quarters of that time, in small parts: as on a machine with other work. For half of each
    /// part, the emulator's main loop runs whenever it can; that keeps a CPU busy.
    Busy,
}

/// The script that `init` runs in such a guest.
const SCRIPT: initramfs::Script<'static> = ("det.sh", include_str!("../det.sh"));

/// What all runs of one command share.
#[derive(Debug)]
pub(super) struct Packed {
    emulator: Emulator,
    kernel: Kernel,
    initramfs: OwnedFd,
    /// Hex SHA-256 of the initramfs.
    sha256: String,
    shape: Shape,
    node_mib: u32,
    kernel_words: String,
    workload: Workload,
    cpus: Option<CpuList>,
    scheduler: String,
    bpf_stats: bool,
    watchers: Vec<Watcher>,
}

impl Packed {
    /// Gets the kernel and packs the programs.
    ///
    /// # Errors
    /// When a part is missing, or the scheduler is not among the programs.
    pub(super) fn new(options: &RunOptions, progress: &Progress) -> Result<Self> {
        options.guest.check_one_nic("the deterministic tier")?;
        ensure!(
            options.scheduler != PINNED
                || !options.workload.is_pipe() && options.guest.shape.sockets > 1,
            "pinned puts long flows on the NIC's node and RPCs on another: choose a --workload with \
             traffic and a --shape with two nodes"
        );
        check_cpus(options)?;
        let mut programs = options.guest.programs()?;
        if options.workload.is_pipe() {
            programs.push(tool::installed("perf", "run make setup")?);
        }
        check_scheduler(&options.scheduler, &programs)?;
        ensure!(
            options.watchers.is_empty() || options.scheduler == SCX_STEER,
            "--watchers ask scx_steer: leave out --scheduler {}",
            options.scheduler
        );
        let (emulator, _) = Emulator::build(&Turn::wait()?, progress)?;
        let kernel = options.guest.source.get(&options.guest.kernel, progress)?;
        let initramfs = initramfs::pack(&kernel, &programs, &[SCRIPT])?;
        let digest = Sha256::digest(content(initramfs.try_clone()?)?);
        Ok(Self {
            emulator,
            kernel,
            initramfs,
            sha256: hex(&digest),
            shape: options.guest.shape,
            node_mib: options.guest.node_memory,
            kernel_words: options.guest.kernel_words.clone(),
            workload: options.workload,
            cpus: options.cpus.clone(),
            scheduler: options.scheduler.clone(),
            bpf_stats: options.bpf_stats,
            watchers: options.watchers.clone(),
        })
    }

    /// Boots a guest, lets it run to its end and reads its counts.
    ///
    /// # Errors
    /// When something fails in the guest, or it does not end. The error quotes the end of its
    /// console.
    pub(super) fn run(&self, seed: u32, host: Host, progress: &Progress) -> Result<Counted> {
        let workload = self.workload.word();
        progress.step(format!("{workload}, seed {seed}, {}", self.scheduler));
        let console = Console::default();
        let said = self.said(seed, host, &console)?;
        said.lines().for_each(|line| console.push(line.trim_end()));
        let mut parts = parts::split(&said).with_context(|| {
            format!("the guest ended before its script did; {}", console.tail())
        })?;
        if let Some(failure) = parts.remove("failed") {
            bail!("in the guest: {failure}");
        }
        Ok(Counted {
            version: 1,
            workload,
            seed,
            scheduler: self.scheduler.clone(),
            kernel: self.kernel.release.clone(),
            qemu: self.emulator.version.clone(),
            programs: self.sha256.clone(),
            reports: self.reports(&mut parts)?,
            counters: parts,
        })
    }

    /// The output on the guest's serial console until it ends.
    fn said(&self, seed: u32, host: Host, console: &Console) -> Result<String> {
        let serial = rustix::fs::memfd_create("console", MemfdFlags::CLOEXEC)
            .context("making a file for the guest's console")?;
        let watchers: Vec<_> = self.watchers.iter().map(|watcher| watcher.word()).collect();
        let cpus = self.cpus.as_ref().map_or_else(String::new, |cpus| format!(" lab.cpus={cpus}"));
        let mode = format!(
            "det lab.seed={seed} lab.scheduler={} lab.workload={} lab.watchers={}{cpus}{}",
            self.scheduler,
            self.workload.word(),
            watchers.join(","),
            if self.bpf_stats { " lab.bpf-stats=1" } else { "" }
        );
        let machine = Machine {
            kernel: &self.kernel,
            initramfs: &self.initramfs,
            shape: self.shape,
            node_mib: self.node_mib,
            nics: Nics::LastNode,
            devices: "",
            kernel_words: &self.kernel_words,
            tier: Tier::Deterministic { emulator: &self.emulator, console: &serial },
            mode: &mode,
        };
        let mut qemu = machine.start(console)?;
        let longest = LONGEST.mul_f64(self.shape.cpus().div_ceil(16) as f64);
        let deadline = Instant::now() + longest;
        while !qemu.ended()? {
            ensure!(Instant::now() < deadline, "the guest did not end within {longest:?}");
            match host {
                Host::AsItIs => thread::sleep(LOOK),
                Host::Busy => {
                    qemu.rouse(LOOK / 2)?;
                    thread::sleep(LOOK / 2);
                    qemu.hold_up(LOOK / 3)?;
                }
            }
        }
        Ok(String::from_utf8_lossy(&content(serial)?).into_owned())
    }

    /// Takes the workload's reports out of the parts.
    fn reports(
        &self,
        parts: &mut BTreeMap<String, String>,
    ) -> Result<BTreeMap<&'static str, Value>> {
        let mut take = |names: &[&'static str]| -> Result<_> {
            let read = |&name: &&'static str| {
                let text = parts.remove(name).unwrap_or_default();
                let report = serde_json::from_str(&text);
                Ok((name, report.with_context(|| format!("reading the {name} part"))?))
            };
            names.iter().map(read).collect()
        };
        let mut reports: BTreeMap<_, _> = match self.workload {
            Workload::Traffic | Workload::Rpcs => take(&["observe", "client"])?,
            Workload::Overload => take(&["observe", "client", "hogs", "nice-hogs"])?,
            Workload::Pipe | Workload::Bound => {
                let one = self.workload == Workload::Pipe;
                [("pipe", serde_json::to_value(pipe::take(parts, one)?)?)].into()
            }
        };
        if let Some(observe) = reports.get("observe") {
            let instructions = traffic::instructions(observe)?;
            reports.insert("instructions", serde_json::to_value(instructions)?);
        }
        if self.bpf_stats {
            reports.insert("bpf", serde_json::to_value(bpf_cost::take(parts)?)?);
        }
        Ok(reports)
    }
}

/// The content of a memory file.
fn content(memory: OwnedFd) -> Result<Vec<u8>> {
    let mut file = File::from(memory);
    let mut content = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut content)).context("reading a memory file")?;
    Ok(content)
}

/// The workload's cpuset has CPUs of the guest, and nothing else decides where threads may run.
fn check_cpus(options: &RunOptions) -> Result<()> {
    let Some(cpus) = &options.cpus else { return Ok(()) };
    let last = options.guest.shape.cpus() - 1;
    ensure!(cpus.iter().all(|cpu| cpu <= last), "--cpus {cpus}: the guest has CPUs 0-{last}");
    ensure!(options.scheduler != PINNED, "pinned chooses the CPUs itself: leave out --cpus");
    Ok(())
}

/// The scheduler is a word on the kernel's command line and a program in the guest's /bin.
fn check_scheduler(name: &str, programs: &[PathBuf]) -> Result<()> {
    let is_program =
        programs.iter().any(|path| Path::new(path).file_name().is_some_and(|file| file == name));
    ensure!(
        [DEFAULT, PINNED].contains(&name) || (is_program && !name.contains(char::is_whitespace)),
        "the guest has no program {name:?}: add it with --with, or write {DEFAULT} or {PINNED}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_is_the_default_or_a_program_of_the_guest() {
        let programs = [PathBuf::from("/usr/bin/scx_simple"), PathBuf::from("/tmp/a b")];
        for good in ["default", "pinned", "scx_simple"] {
            check_scheduler(good, &programs).unwrap();
        }
        for bad in ["scx_simpl", "a b", ""] {
            assert!(check_scheduler(bad, &programs).is_err(), "{bad:?} was accepted");
        }
    }
}
