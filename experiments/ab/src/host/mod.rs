//! This host as the measured machine: the agent on another host drives the traffic. After each sample,
//! also a failed one, the programs are ended, the kernel's own scheduler is back, and an arm's
//! settings are put back. Until then, the settings from before are in a journal.

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

/// The world of a host: it steers packets as it is set up to.
pub(super) const WORLD: &str = "host";
/// Below the ports that Linux hands out by itself, so that the driving host has them free.
const PORTS: Range<u16> = 20_000..30_000;
/// For the kernel to take its own scheduler back, once the other's process has ended.
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
    /// Whether a run that was killed had left settings behind.
    recovered: bool,
}

impl HostBed {
    /// Checks that nothing is missing, and connects to the agent. Changes nothing, except that it puts
    /// back what a killed run had changed.
    ///
    /// # Errors
    /// Names what is missing.
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
                    "a run that was killed has left settings behind: put back by hand what \
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
        // Not over the link: that answers no more once the user wants an end.
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
            let text = format!(
                "which CPUs {nic} is near to is unknown: nothing can be said of NIC-local placement"
            );
            warnings.push(Warning::new(Kind::NoNicPlace, text));
        }
        if self.recovered {
            let text = "what a run that was killed had set on this host was put back first";
            warnings.push(Warning::new(Kind::LeftSettings, text));
        }
        if !self.nic.has(self.agent.local)? {
            let text = format!(
                "{} is no address of {nic}: the traffic may come in by another NIC; name the agent \
                 by its address on the measured network",
                self.agent.local
            );
            warnings.push(Warning::new(Kind::OtherNic, text));
        }
        Ok(warnings)
    }

    fn turn(&mut self, _world: &str) -> Result<()> {
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

    /// Others use this host too: what its kernel says is a warning, not a failure.
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

/// Checks that no sched_ext scheduler is in force, and that the arms' ones can be loaded.
fn needs_default(link: &mut Link, arms: &[Arm]) -> Result<()> {
    if let Some(name) = scheduler::in_force(link)? {
        bail!("the sched_ext scheduler {name} is in force on this host; stop it first");
    }
    if !scheduler::available(link)?
        && let Some(arm) = arms.iter().find(|arm| arm.scheduler.is_some())
    {
        bail!(
            "this kernel has no sched_ext, which the arm {} needs (CONFIG_SCHED_CLASS_EXT, Linux \
             6.16 or later for scx_steer); --arms default,pinned works",
            arm.name
        );
    }
    Ok(())
}

/// SIGINT and SIGTERM, from the first time it is asked for.
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
