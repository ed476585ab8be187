//! `steer-bench lab test`: scx_steer in a guest, under traffic, through everything that must not
//! harm it or the host: hot unload, a second instance, CPU hotplug, a NIC that disappears; with
//! threads that only compute; and with policies for cgroups.

mod fairness;
mod policy;
mod situation;
mod sizes;
pub(crate) mod soak;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;

use crate::lab::facts::Facts;
use crate::lab::guest::{Guest, GuestArgs, MOST_BOOTS};
use crate::lab::net;
use crate::lab::progress::Progress;
use crate::run::generator::Generators;
use crate::run::layout::Layout;
use crate::run::scheduler::{self, JOB};
use crate::run::workload::{WorkloadArgs, words};

/// For a scheduler to notice and to load again in an emulated guest.
const RESTART: Duration = Duration::from_secs(60);

/// Flags of `steer-bench lab test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Run only the checks whose names contain this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Make a new record of program sizes for this kernel (experiments/program-sizes.json, below the
    /// current folder) instead of comparing with it.
    #[arg(long)]
    record: bool,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    guest: GuestArgs,
}

/// A named check.
type Check = (&'static str, fn(&mut Bench) -> Result<()>);

const CHECKS: [Check; 15] = [
    ("programs are of the sizes on record", sizes::as_recorded),
    ("a second instance is refused", second_instance),
    ("who comes to CPUs behind others' does not starve", fairness::newcomer),
    ("two threads share a CPU by weight", fairness::weights),
    ("traffic passes", traffic),
    ("SIGTERM under traffic brings the default scheduler back", |bench| {
        unload(bench, libc::SIGTERM)
    }),
    ("SIGINT under traffic brings the default scheduler back", |bench| unload(bench, libc::SIGINT)),
    ("reloading under traffic leaves nothing behind", reloads),
    ("CPU hotplug under traffic restarts it", hotplug),
    ("it outlives its NIC", nic_disappears),
    ("a server declared long is placed as one, its twin is not", policy::declared_class),
    ("an exclusive pool is its cgroup's alone", policy::exclusive_pool),
    ("who may use exclusive CPUs only does not starve", policy::locked_in),
    ("a policy that flips under traffic drops no request", policy::flips_under_traffic),
    ("a bad policy keeps the old one in force", policy::bad_policy),
];

/// Boots a guest and runs all checks; prints a line for each and `N passed, N failed`.
///
/// # Errors
/// When the guest does not boot, or any check fails.
pub(crate) fn run(args: TestArgs) -> Result<()> {
    let checks: Vec<&Check> = CHECKS.iter().filter(|check| check.0.contains(&args.only)).collect();
    ensure!(!checks.is_empty(), "no check's name contains {:?}", args.only);
    args.workload.check()?;
    args.workload.check_own("lab test")?;
    args.guest.check_one_nic("lab test")?;
    let progress = Progress::rounds(checks.len() as u64);
    let mut bench = args.bench(&progress)?;
    let mut boots = 1;
    let mut failed = 0;
    for &&(name, check) in &checks {
        progress.step(name);
        let result = loop {
            let result = bench.run(check);
            let broken = bench.guest.broken_by_emulator().filter(|_| boots < MOST_BOOTS);
            match (result, broken) {
                (Err(_), Some(said)) => {
                    boots += 1;
                    progress.say(&format!("{said}; {name}: once more in a fresh one"));
                    drop(bench);
                    bench = args.bench(&progress)?;
                }
                (result, _) => break result.with_context(|| name)?,
            }
        };
        progress.advance();
        let figures = std::mem::take(&mut bench.figures);
        match result {
            Ok(()) => progress.say(&format!("ok     {name}{figures}")),
            Err(error) => {
                failed += 1;
                progress.say(&format!("FAILED {name}: {error:#}"));
            }
        }
    }
    drop(progress);
    println!("{} passed, {failed} failed", checks.len() - failed);
    ensure!(failed == 0, "scx_steer failed {failed} checks on {}", bench.guest.kernel.release);
    Ok(())
}

impl TestArgs {
    fn bench(&self, progress: &Progress) -> Result<Bench> {
        let guest = Guest::boot(&self.guest, None, progress)?;
        Bench::new(guest, self.workload.clone(), self.record)
    }
}

/// A guest with the server running.
struct Bench {
    guest: Guest,
    facts: Facts,
    workload: WorkloadArgs,
    /// Traffic started so far; each gets other ports than those before it.
    rounds: u16,
    /// What the check under way has measured, for who reads along.
    figures: String,
    /// Make records anew rather than compare with them.
    record: bool,
    /// How long scx_steer may take to be in force again.
    reload: Duration,
}

impl Bench {
    fn new(mut guest: Guest, workload: WorkloadArgs, record: bool) -> Result<Self> {
        let facts = Facts::read(&mut guest.link, &guest.net)?;
        guest.complaints().context("reading the guest's boot messages")?;
        let figures = String::new();
        Ok(Self { guest, facts, workload, rounds: 0, figures, record, reload: RESTART })
    }

    /// Runs one check with scx_steer loaded and the server running, then takes both down. The
    /// outer error means that the guest is lost, and the checks after this one with it.
    fn run(&mut self, check: fn(&mut Self) -> Result<()>) -> Result<Result<()>> {
        let started = self.start();
        if let Err(error) = self.guest.survive(started)? {
            // what did start must not be in the way of the next check
            let stopped = self.stop();
            self.guest.survive(stopped)?.ok();
            return Ok(Err(error));
        }
        let checked = check(self);
        let checked = self.guest.survive(checked)?;
        let stopped = self.stop();
        let stopped = self.guest.survive(stopped)?;
        let complaints = self.guest.complaints()?;
        Ok(checked.and(stopped).and_then(|()| {
            let said = complaints.join(" | ");
            ensure!(complaints.is_empty(), "the guest's kernel complains: {said}");
            Ok(())
        }))
    }

    fn start(&mut self) -> Result<()> {
        policy::write(self, "")?;
        self.load()?;
        let server = self.workload.server(false, &Layout::of_guest(&self.facts));
        self.guest.link.spawn("server", &server)?;
        self.guest.link.expect("server", "ready", RESTART)
    }

    fn load(&mut self) -> Result<()> {
        let command = format!("scx_steer -v --policy {}", policy::FILE);
        scheduler::load(&mut self.guest.link, &words(&command)).map(drop)
    }

    fn stop(&mut self) -> Result<()> {
        let link = &mut self.guest.link;
        let server = link.stop("server").context("stopping the server");
        if link.ended(JOB, Duration::ZERO)?.is_none() {
            scheduler::unload(link, libc::SIGTERM)?;
        }
        server.map(drop)
    }

    fn start_traffic(&mut self) -> Result<Generators> {
        self.rounds += 1;
        let warmup = self.workload.warmup();
        // A soak has more rounds than there are ports.
        let source_port = 20_000 + 2_000 * (self.rounds % 20);
        Generators::start(&self.guest.net, &self.workload, warmup, source_port)
    }

    /// Waits until scx_steer is in force.
    fn in_force(&mut self) -> Result<()> {
        let deadline = Instant::now() + self.reload;
        while scheduler::in_force(&mut self.guest.link)?.is_none() {
            if Instant::now() >= deadline {
                let said = self.guest.link.so_far(JOB)?;
                bail!("scx_steer is not in force within {:?}: {}", self.reload, said.last_words());
            }
            let ended = self.guest.link.ended(JOB, Duration::from_millis(200))?;
            ensure!(ended.is_none(), "scx_steer ended: {}", ended.unwrap_or_default().last_words());
        }
        Ok(())
    }
}

fn second_instance(bench: &mut Bench) -> Result<()> {
    let second = bench.guest.link.run(&["scx_steer"], RESTART)?;
    ensure!(second.code.is_some_and(|code| code != 0), "it ended with code {:?}", second.code);
    ensure!(
        second.stderr.contains("another sched_ext scheduler is loaded"),
        "its message is unclear: {}",
        second.last_words()
    );
    bench.in_force()
}

fn traffic(bench: &mut Bench) -> Result<()> {
    let (report, _) = bench.start_traffic()?.finish(&bench.guest.net)?;
    moved(&report)?;
    bench.in_force()
}

fn unload(bench: &mut Bench, signal: i32) -> Result<()> {
    let traffic = bench.start_traffic()?;
    bench.guest.link.run(&["sleep", "2"], RESTART)?;
    scheduler::unload(&mut bench.guest.link, signal)?;
    let (report, _) =
        traffic.finish(&bench.guest.net).context("the traffic did not survive the unloading")?;
    moved(&report)
}

/// A wake-up that is under way as the scheduler goes must leave nothing to the next one, of which
/// the kernel would complain.
fn reloads(bench: &mut Bench) -> Result<()> {
    for _ in 0..2 {
        let traffic = bench.start_traffic()?;
        for _ in 0..3 {
            scheduler::unload(&mut bench.guest.link, libc::SIGTERM)?;
            bench.load()?;
        }
        let (report, _) =
            traffic.finish(&bench.guest.net).context("the traffic did not survive")?;
        moved(&report)?;
    }
    bench.in_force()
}

fn hotplug(bench: &mut Bench) -> Result<()> {
    const SWITCH: &str = "/sys/devices/system/cpu/cpu1/online";
    const TIMES_ENABLED: &str = "/sys/kernel/sched_ext/enable_seq";
    let traffic = bench.start_traffic()?;
    for online in ["0", "1"] {
        let before = bench.guest.link.read(TIMES_ENABLED)?;
        bench.guest.link.write(SWITCH, online)?;
        let deadline = Instant::now() + RESTART;
        while bench.guest.link.read(TIMES_ENABLED)? == before {
            ensure!(Instant::now() < deadline, "no restart after cpu1/online became {online}");
            bench.guest.link.run(&["sleep", "0.2"], RESTART)?;
        }
        bench.in_force()?;
    }
    // not when the kernel tells it: that may be never
    let said = bench.guest.link.so_far(JOB)?.stderr;
    ensure!(said.contains("CPU 1 is about to leave"), "it left too late: {said}");
    moved(&traffic.finish(&bench.guest.net).context("the traffic did not survive")?.0)
}

fn nic_disappears(bench: &mut Bench) -> Result<()> {
    // The line to the agent goes through this NIC too: the guest does it alone, and the line's
    // TCP connection sleeps meanwhile.
    let nic = &bench.facts.nics[0].name;
    let script = format!(
        "sleep 1; echo 1 > /sys/class/net/{nic}/device/../remove; sleep 3; \
         echo 1 > /sys/bus/pci/rescan; until ip address add {}/{} dev {nic}; do sleep 0.2; done; \
         ip link set {nic} up",
        net::GUEST,
        net::PREFIX
    );
    let done = bench.guest.link.run(&["sh", "-c", &script], RESTART)?;
    ensure!(done.success(), "the NIC did not come back: {}", done.last_words());
    bench.in_force()?;
    let (report, _) = bench.start_traffic()?.finish(&bench.guest.net)?;
    moved(&report)
}

/// Checks that a client moved something of both kinds.
fn moved(report: &Value) -> Result<()> {
    for path in ["/long/bytes", "/rpc/count"] {
        let amount = report.pointer(path).and_then(Value::as_f64);
        ensure!(amount.is_some_and(|amount| amount > 0.0), "no traffic: {path} is {amount:?}");
    }
    Ok(())
}
