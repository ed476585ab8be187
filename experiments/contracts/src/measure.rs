//! Measures mixes in a guest, under one scheduler at a time.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, ensure};

use super::mix::Mix;
use super::verdict::Sample;
use steer_ground::progress::Progress;
use steer_lab::facts::Facts;
use steer_lab::guest::{Guest, GuestOptions};
use steer_scenario::arm::Arm;
use steer_scenario::generator::Generators;
use steer_scenario::layout::Layout;
use steer_scenario::rpc_tool::RpcTool;
use steer_scenario::scheduler::{self, JOB};
use steer_scenario::workload::{LongTool, Workload};
use steer_traffic::contend::GroupsReport;
use steer_traffic::long::{Direction, Reads};

/// For a mix to be set up and cleared away in a slow guest, beyond its window.
const PATIENCE: Duration = Duration::from_secs(120);
/// Traffic before the first mix starts.
const WARM_UP: Duration = Duration::from_secs(2);
/// Payload that must arrive during a mix with traffic, in bytes per second. A starved server, or a
/// client that could not connect, gets less.
const TRAFFIC: f64 = 10_000.0;

/// A guest in which mixes are measured.
pub(crate) struct Bench {
    pub(crate) guest: Guest,
    workload: Workload,
    /// The file that counts what the NIC receives.
    received: String,
    /// How often traffic was started. Each time uses other ports than the time before.
    rounds: u16,
}

impl AsRef<Guest> for Bench {
    fn as_ref(&self) -> &Guest {
        &self.guest
    }
}

impl Bench {
    /// Boots a guest, and starts the server in it.
    pub(crate) fn boot(options: &GuestOptions, progress: &Progress) -> Result<Self> {
        let workload = traffic()?;
        let mut guest = Guest::boot(options, None, progress)?;
        guest.complaints().context("reading the guest's boot messages")?;
        let facts = Facts::read(&mut guest.link, &guest.net)?;
        // As on a host with systemd. Cgroups come and go under the loaded scheduler.
        let control = "/sys/fs/cgroup/cgroup.subtree_control";
        guest.link.write(control, "+cpu +cpuset").context("enabling the controllers")?;
        let server = workload.server(false, &Layout::of_guest(&facts));
        guest.link.spawn("server", &server)?;
        guest.link.expect("server", "ready", PATIENCE)?;
        let nic = facts.nics.first().context("the guest has no NIC")?;
        let received = format!("/sys/class/net/{}/statistics/rx_bytes", nic.name);
        Ok(Self { guest, workload, received, rounds: 0 })
    }

    /// Measures mixes under a scheduler. The outer error means that the guest is lost; an inner one
    /// is what went wrong with that mix.
    pub(crate) fn under(
        &mut self,
        arm: &Arm,
        mixes: &[&Mix],
        progress: &Progress,
    ) -> Result<Vec<Result<Sample>>> {
        let mut samples = Vec::new();
        self.load(arm)?;
        for mix in mixes {
            progress.step(format!("{}: {}", arm.name, mix.name));
            let measured = self.measure(mix);
            let mut measured = self.guest.survive(measured)?;
            if let Some(ended) = self.ended(arm)? {
                measured = Err(ended);
                self.load(arm)?;
            }
            samples.push(measured);
        }
        if arm.scheduler.is_some() {
            scheduler::unload(&mut self.guest.link, libc::SIGTERM)?;
        }
        Ok(samples)
    }

    fn load(&mut self, arm: &Arm) -> Result<()> {
        let Some(command) = &arm.scheduler else { return Ok(()) };
        scheduler::load(&mut self.guest.link, command).map(drop)
    }

    /// Why the scheduler is not in force any more, if it is not.
    fn ended(&mut self, arm: &Arm) -> Result<Option<Error>> {
        let link = &mut self.guest.link;
        if arm.scheduler.is_none() || scheduler::in_force(link)?.is_some() {
            return Ok(None);
        }
        let said = link.wait(JOB, PATIENCE)?;
        let reason = said.last_words();
        Ok(Some(anyhow!("{} was ejected: {reason}", arm.name)))
    }

    fn measure(&mut self, mix: &Mix) -> Result<Sample> {
        let traffic = if mix.traffic { Some(self.traffic()?) } else { None };
        let before = self.received()?;
        let limit = PATIENCE + Duration::from_secs(mix.seconds.into());
        let done = self.guest.link.run(&mix.command(), limit)?;
        let passed = self.received()? - before;
        drop(traffic);
        ensure!(done.success(), "{}", done.last_words());
        ensure!(
            !mix.traffic || passed >= TRAFFIC * f64::from(mix.seconds),
            "no traffic: {passed} bytes arrived"
        );
        let report: GroupsReport =
            serde_json::from_str(&done.stdout).context("reading what the groups got")?;
        Ok(Sample::of(&report))
    }

    /// Starts traffic. It ends when the value is dropped.
    fn traffic(&mut self) -> Result<Generators> {
        self.rounds += 1;
        let source_port = 20_000 + 2_000 * (self.rounds % 20);
        let net = &self.guest.net;
        let traffic = Generators::start(net, &self.workload, Duration::ZERO, source_port)?;
        thread::sleep(WARM_UP);
        Ok(traffic)
    }

    /// Bytes that the NIC has received.
    fn received(&mut self) -> Result<f64> {
        self.guest.link.read(&self.received)?.parse().context("reading the NIC's counter")
    }
}

/// The traffic of the mixes that have some: both kinds, and always the same.
fn traffic() -> Result<Workload> {
    Ok(Workload {
        long_flows: 2,
        long_rate: "40Mbit".parse().map_err(Error::msg)?,
        long_tool: LongTool::Builtin,
        long_direction: Direction::default(),
        long_reads: Reads::default(),
        long_threads: None,
        long_zerocopy: false,
        trace_long: false,
        rpc_connections: 16,
        rpc_rate: 0,
        rpc_size: "4KiB".parse().map_err(Error::msg)?,
        rpc_tool: RpcTool::Builtin,
        own_client: false,
        rpc_threads: 4,
        rpc_work: None,
        no_hogs: true,
        stages: Vec::new(),
        warmup: 0,
        // It ends with the mix.
        duration: 600,
    })
}
