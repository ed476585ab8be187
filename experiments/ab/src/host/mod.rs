//! This host as the bed: the agent on another host drives the traffic. After each sample, even a
//! failed one, the programs are ended, the kernel's own scheduler is back, and the arm's settings
//! are put back. Until then, the old settings are in a journal.

mod environment;
mod kernel_log;
mod nic;
mod pins;

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail, ensure};

use super::bed::Bed;
use super::nic::NearNic;
use super::tuning::{JOURNAL, Journal, Tuned};
use kernel_log::KernelLog;
use nic::Nic;
pub use pins::HostOptions;
use steer_ground::cpus::CpuList;
use steer_ground::stop::{Interrupted, Stop};
use steer_ground::warning::{Kind, Warning};
use steer_lab::agent::{Here, Link};
use steer_lab::facts;
use steer_lab::guest::GuestOptions;
use steer_remote::{Agent, Key};
use steer_result::Environment;
use steer_scenario::arm::Arm;
use steer_scenario::layout::Layout;
use steer_scenario::scheduler;
use steer_scenario::workload::Workload;
use steer_traffic::client::ClientReport;

/// The steering mode of a host: it steers packets as it is configured.
pub(super) const MODE: &str = "host";
/// Below the ports that Linux chooses by itself, so that they are free on the driving host.
const PORTS: Range<u16> = 20_000..30_000;
/// Time for the kernel to return to its own scheduler after another one's process has ended.
const UNLOAD: Duration = Duration::from_secs(15);

/// This host.
pub(super) struct HostBed {
    link: Link,
    agent: Agent,
    stop: &'static Stop,
    nic: Nic,
    layout: Layout,
    log: KernelLog,
    journal: Option<Journal>,
    /// Whether a killed run had left settings behind.
    recovered: bool,
}

impl HostBed {
    /// Checks that nothing is missing, and connects to the agent. The only change it makes: it puts
    /// back the settings of a killed run.
    ///
    /// # Errors
    /// Something is missing. The message names it.
    pub(super) fn make(options: &HostOptions, guest: &GuestOptions, arms: &[Arm]) -> Result<Self> {
        let key = Key::read(&options.key_file)?;
        ensure!(
            rustix::process::geteuid().is_root(),
            "measuring a host takes tracing and loads schedulers: run it as root"
        );
        let stop = stop()?;
        let mut link = Link::here(Here::new(guest.programs()?, stop));
        let journal =
            Journal::open(Path::new(JOURNAL), arms.iter().any(|arm| !arm.tunings.is_empty()))?;
        let recovered = match &journal {
            Some(journal) => Tuned::recover(&mut link, journal).with_context(|| {
                format!(
                    "a killed run has left settings behind: put back by hand what \
                     {JOURNAL} says, and remove it"
                )
            })?,
            None => false,
        };
        let nic = Nic::look(&options.nic)?;
        needs_default(&mut link, arms)?;
        let nodes = facts::nodes(&mut link)?;
        let (long_cpus, rpc_cpus) = options.pins(arms, &nic, &nodes)?;
        let agent = Agent::connect(&options.agent, &key)?;
        let layout = Layout { nodes, long_cpus, rpc_cpus, address: agent.local };
        Ok(Self { link, agent, stop, nic, layout, log: KernelLog::from_now(), journal, recovered })
    }

    /// Ends what runs here and waits until the kernel's own scheduler is back.
    fn restore(&mut self) -> Result<()> {
        self.link.end_all();
        let deadline = Instant::now() + UNLOAD;
        // Not through the link: after Ctrl-C it does not answer any more.
        while let Ok(state) = fs::read_to_string("/sys/kernel/sched_ext/state")
            && state.trim() != "disabled"
        {
            ensure!(
                Instant::now() < deadline,
                "the kernel's own scheduler is not back (sched_ext is {}): end the other one, or \
                 press SysRq-S",
                state.trim()
            );
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Bed for HostBed {
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn nics(&self) -> Vec<NearNic> {
        let cpus = self.nic.cpus.iter().flat_map(CpuList::iter).collect();
        vec![NearNic { name: self.nic.name.clone(), cpus }]
    }

    fn journal(&self) -> Option<Journal> {
        self.journal.clone()
    }

    fn source_ports(&self) -> (Range<u16>, u16) {
        (PORTS, 1)
    }

    fn environment(&mut self) -> Result<Environment> {
        environment::read(&mut self.link, &self.nic, &self.layout, &self.agent)
    }

    fn warnings(&mut self) -> Result<Vec<Warning>> {
        let nic = &self.nic.name;
        let mut warnings = Vec::new();
        if self.nic.cpus.is_none() {
            let text =
                format!("the CPUs near {nic} are unknown, so NIC-local placement is unknown too");
            warnings.push(Warning::new(Kind::NoNicPlace, text));
        }
        if self.recovered {
            let text = "a killed run had left settings on this host; they were put back first";
            warnings.push(Warning::new(Kind::LeftSettings, text));
        }
        if !self.nic.has(self.agent.local)? {
            let text = format!(
                "{} is not an address of {nic}: another NIC may carry the traffic; name the agent \
                 by its address on the measured network",
                self.agent.local
            );
            warnings.push(Warning::new(Kind::OtherNic, text));
        }
        Ok(warnings)
    }

    fn turn(&mut self, _mode: &str) -> Result<()> {
        Ok(())
    }

    fn drive(
        &mut self,
        workload: &Workload,
        warmup: Duration,
        source_port: u16,
    ) -> Result<(ClientReport, Instant)> {
        let stop = self.stop;
        self.agent.drive(&workload.load(warmup, source_port), &|| stop.not_raised())
    }

    /// This host has other users, so a message of its kernel is a warning, not a failure.
    fn afterwards(&mut self) -> Result<Vec<Warning>> {
        let warning =
            |line| Warning::new(Kind::KernelComplaint, format!("the kernel complained: {line}"));
        Ok(self.log.complaints().into_iter().map(warning).collect())
    }

    fn recover(&mut self, mut error: Error) -> Result<String> {
        if !error.is::<Interrupted>() && self.nic.is_down() {
            error = error.context(format!("{} is down", self.nic.name));
        }
        match self.restore() {
            Ok(()) => Err(error),
            Err(left) => Err(error.context(left)),
        }
    }
}

/// Checks that no sched_ext scheduler is in force, and that the arms' schedulers can be loaded.
fn needs_default(link: &mut Link, arms: &[Arm]) -> Result<()> {
    if let Some(name) = scheduler::in_force(link)? {
        bail!("the sched_ext scheduler {name} is in force on this host; stop it first");
    }
    if !scheduler::available(link)?
        && let Some(arm) = arms.iter().find(|arm| arm.scheduler.is_some())
    {
        bail!(
            "this kernel has no sched_ext, which the arm {} needs (CONFIG_SCHED_CLASS_EXT, Linux \
             6.12 or later for scx_steer); --arms default,pinned works",
            arm.name
        );
    }
    Ok(())
}

/// The stop flag for SIGINT and SIGTERM. The first call takes over these signals.
fn stop() -> Result<&'static Stop> {
    static STOP: OnceLock<Stop> = OnceLock::new();
    match STOP.get() {
        Some(stop) => Ok(stop),
        None => {
            let stop = Stop::on_signal()?;
            Ok(STOP.get_or_init(|| stop))
        }
    }
}
