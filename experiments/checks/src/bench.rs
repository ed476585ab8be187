//! Where checks run: a guest with scx_steer loaded and the server running.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::status;
use steer_ground::text::words;
use steer_lab::facts::Facts;
use steer_lab::guest::Guest;
use steer_scenario::generator::Generators;
use steer_scenario::layout::Layout;
use steer_scenario::scheduler::{self, JOB};
use steer_scenario::workload::Workload;
use steer_traffic::client::ClientReport;
use steer_traffic::contend::{GroupReport, GroupsReport};

/// Time for a scheduler to notice a change and to load again in an emulated guest.
pub(super) const RESTART: Duration = Duration::from_secs(180);

/// Time for a script.
const PATIENCE: Duration = Duration::from_secs(60);
/// The policy that every check's scheduler is loaded with; empty at first.
pub(super) const FILE: &str = "/tmp/policy.toml";

/// A guest with the server running.
pub(super) struct Bench {
    pub(super) guest: Guest,
    pub(super) facts: Facts,
    workload: Workload,
    /// How often traffic was started; each time uses other ports than the time before.
    rounds: u16,
    /// Whether the check before left scx_steer loaded and the server running.
    kept: bool,
    /// What the current check has measured, to print beside its result.
    pub(super) figures: String,
    /// Whether to make a new record instead of comparing with the old one.
    pub(super) record: bool,
    /// How long scx_steer may take to be in force again.
    pub(super) reload: Duration,
}

impl AsRef<Guest> for Bench {
    fn as_ref(&self) -> &Guest {
        &self.guest
    }
}

impl Bench {
    pub(super) fn new(mut guest: Guest, workload: Workload, record: bool) -> Result<Self> {
        let facts = Facts::read(&mut guest.link, &guest.net)?;
        guest.complaints().context("reading the guest's boot messages")?;
        let figures = String::new();
        let (rounds, kept, reload) = (0, false, RESTART);
        Ok(Self { guest, facts, workload, rounds, kept, figures, record, reload })
    }

    /// Runs one check with scx_steer loaded and the server running, then takes both down, or keeps
    /// them for the next check if this one passed. The outer error means that the guest is lost, and
    /// the checks after this one with it.
    pub(super) fn run(
        &mut self,
        check: fn(&mut Self) -> Result<()>,
        keep: bool,
    ) -> Result<Result<()>> {
        let started = if self.kept { self.forget_policy() } else { self.start() };
        if let Err(error) = self.guest.survive(started)? {
            // What did start must not be in the way of the next check.
            let stopped = self.stop();
            self.guest.survive(stopped)?.ok();
            return Ok(Err(error));
        }
        let checked = check(self);
        let checked = self.guest.survive(checked)?;
        self.kept = keep && checked.is_ok();
        let stopped = if self.kept { self.in_force() } else { self.stop() };
        let stopped = self.guest.survive(stopped)?;
        let complaints = self.guest.complaints()?;
        Ok(checked.and(stopped).and_then(|()| {
            let said = complaints.join(" | ");
            ensure!(complaints.is_empty(), "the guest's kernel complains: {said}");
            Ok(())
        }))
    }

    pub(super) fn start(&mut self) -> Result<()> {
        self.write_policy("")?;
        self.load()?;
        let server = self.workload.server(false, &Layout::of_guest(&self.facts));
        self.guest.link.spawn("server", &server)?;
        self.guest.link.expect("server", "ready", RESTART)
    }

    /// What a check wrote must not hold for the next one.
    fn forget_policy(&mut self) -> Result<()> {
        self.write_policy("")?;
        status::until(self, "no policy", |policy| policy.rules == 0).map(drop)
    }

    pub(super) fn load(&mut self) -> Result<()> {
        let command = format!("scx_steer -v --policy {FILE}");
        scheduler::load(&mut self.guest.link, &words(&command)).map(drop)
    }

    pub(super) fn stop(&mut self) -> Result<()> {
        self.kept = false;
        let link = &mut self.guest.link;
        let server = link.stop("server").context("stopping the server");
        if link.ended(JOB, Duration::ZERO)?.is_none() {
            scheduler::unload(link, libc::SIGTERM)?;
        }
        server.map(drop)
    }

    pub(super) fn start_traffic(&mut self) -> Result<Generators> {
        self.rounds += 1;
        let warmup = self.workload.warmup();
        // A soak has more rounds than there are ports.
        let source_port = 20_000 + 2_000 * (self.rounds % 20);
        Generators::start(&self.guest.net, &self.workload, warmup, source_port)
    }

    /// Waits until scx_steer is in force.
    pub(super) fn in_force(&mut self) -> Result<()> {
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

    /// Replaces the policy file in one step.
    pub(super) fn write_policy(&mut self, rules: &str) -> Result<()> {
        self.script(&format!("cat > {FILE}.new <<'END'\n{rules}\nEND\nmv {FILE}.new {FILE}"))
            .map(drop)
    }

    /// Lets groups of threads compete in cgroups for some seconds, and returns what each got. The
    /// texts are those of `steer-bench contend`.
    pub(super) fn contend<const N: usize>(
        &mut self,
        seconds: u16,
        cgroups: &[&str],
        groups: [&str; N],
    ) -> Result<[GroupReport; N]> {
        let mut command = words(&format!("steer-bench contend --duration {seconds}"));
        for (flag, texts) in [("--cgroup", cgroups), ("--group", &groups)] {
            command.extend(texts.iter().flat_map(|text| [flag, *text]).map(str::to_owned));
        }
        let limit = 2 * RESTART + Duration::from_secs(seconds.into());
        let done = self.guest.link.run(&command, limit)?;
        ensure!(done.success(), "{}", done.last_words());
        groups_of(&done.stdout)
    }

    /// Runs a shell script in the guest, and returns what it printed.
    pub(super) fn script(&mut self, script: &str) -> Result<String> {
        let done = self.guest.link.run(&["sh", "-c", script], PATIENCE)?;
        ensure!(done.success(), "{}", done.last_words());
        Ok(done.stdout)
    }

    /// The numbers that a shell script prints, among other words.
    pub(super) fn numbers<const N: usize>(&mut self, script: &str) -> Result<[f64; N]> {
        let said = self.script(script)?;
        let numbers: Vec<f64> =
            said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        numbers.try_into().ok().with_context(|| format!("not {N} numbers in {said:?}"))
    }
}

/// Reads what `steer-bench contend` printed.
pub(super) fn groups_of<const N: usize>(report: &str) -> Result<[GroupReport; N]> {
    let report: GroupsReport =
        serde_json::from_str(report).context("reading what the threads got")?;
    report.groups.try_into().ok().context("contend reported other groups")
}

/// Checks that a client moved something of both kinds.
pub(super) fn moved(report: &ClientReport) -> Result<()> {
    let bytes = report.long.as_ref().map(|long| long.bytes);
    ensure!(bytes > Some(0), "no traffic: the long flows moved {bytes:?} bytes");
    let count = report.rpc.as_ref().map(|rpc| rpc.count);
    ensure!(count > Some(0), "no traffic: {count:?} RPCs were answered");
    Ok(())
}
