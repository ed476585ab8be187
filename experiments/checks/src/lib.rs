//! `steer-bench lab test`: scx_steer in a guest under traffic. Nothing may harm it or the host: hot
//! unload, a second instance, CPU hotplug, a NIC that disappears, threads that only compute,
//! policies for cgroups.

mod bench;
mod clocked;
mod contracts;
mod fairness;
mod follow;
mod life;
mod partition;
mod policy;
mod served;
mod situation;
mod sizes;
pub mod soak;
mod status;
mod tickless;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use bench::Bench;
use steer_ground::progress::Progress;
use steer_ground::stop::Stop;
use steer_ground::word::Word;
use steer_lab::fresh::Boots;
use steer_lab::guest::{Guest, GuestOptions};
use steer_scenario::workload::Workload;

/// The clock of the guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// That of the priced tier, without prices.
    #[default]
    Model,
    /// Real time.
    Real,
}

impl Word for Clock {
    const ALL: &'static [Self] = &[Self::Model, Self::Real];

    fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Real => "real",
        }
    }
}

/// Which checks to run, and on what.
#[derive(Debug, Clone)]
pub struct TestOptions {
    /// Run only the checks whose names contain one of these; all if there are none.
    pub only: Vec<String>,
    /// Make a new record of program sizes for this kernel (experiments/program-sizes.json,
    /// below the current folder) instead of comparing with it. Needs the real clock.
    pub record: bool,
    /// The guests' clock.
    pub clock: Clock,
    /// The flags that said all this, for a guest's own checks.
    pub flags: Vec<String>,
    /// Whether this program runs inside a guest.
    pub inside: Option<Inside>,
    /// The traffic, and what runs beside it.
    pub workload: Workload,
    /// The guest.
    pub guest: GuestOptions,
}

/// A guest, from inside.
#[derive(Debug, Clone)]
pub struct Inside {
    /// Its number among the guests of a run.
    pub number: usize,
    /// The network namespace from which clients reach it, if it has a NIC.
    pub net: Option<PathBuf>,
}

/// A named check.
type Check = (&'static str, fn(&mut Bench) -> Result<()>);

/// Checks that share a guest.
struct Group {
    name: &'static str,
    /// Whether they need traffic.
    network: bool,
    /// Words for the kernel's command line.
    kernel_words: &'static str,
    /// Whether each check has a scheduler of its own, which learned nothing before. Otherwise they
    /// share one until a check fails: loading takes longer than most checks.
    fresh: bool,
    checks: &'static [Check],
}

/// What most groups have.
const EACH: Group = Group { name: "", network: true, kernel_words: "", fresh: false, checks: &[] };

/// The longest first: two run at a time.
const GUESTS: [Group; 5] = [
    Group { name: "its life under traffic", checks: &LIFE, ..EACH },
    Group { name: "without traffic", network: false, checks: &QUIET, ..EACH },
    Group { name: "policies under traffic", checks: &POLICIES, ..EACH },
    Group { name: "places under traffic", fresh: true, checks: &PLACES, ..EACH },
    Group {
        name: "with nohz_full",
        network: false,
        kernel_words: tickless::WORDS,
        checks: &TICKLESS,
        ..EACH
    },
];

const TICKLESS: [Check; 1] = [("a CPU of nohz_full= keeps its tick off", tickless::alone)];

const LIFE: [Check; 4] = [
    ("traffic passes", life::traffic),
    ("SIGTERM and SIGINT under traffic bring the default scheduler back", life::reloads),
    ("CPU hotplug under traffic restarts it", life::hotplug),
    ("it outlives its NIC", life::nic_disappears),
];

const PLACES: [Check; 3] = [
    ("short-flow threads follow their packets to free CPUs", follow::short_flows),
    (
        "a core is lent while its long-flow thread sleeps, and given back at once",
        follow::lent_cores,
    ),
    ("threads that poll the NIC run near it, and teach nothing of it", follow::polling),
];

const POLICIES: [Check; 2] = [
    ("a server declared long is placed as one, its twin is not", policy::declared_class),
    ("a policy that flips under traffic drops no request", policy::flips_under_traffic),
];

const QUIET: [Check; 21] = [
    ("programs are of the sizes on record", sizes::as_recorded),
    ("it starts without a warning", life::starts_without_warning),
    ("a second instance is refused", life::second_instance),
    ("few timers run on an idle host", life::idle_host),
    ("a thread that moves to another CPU does not starve", fairness::newcomer),
    ("two threads share a CPU by weight", fairness::weights),
    ("a thread does not wait for its waker while CPUs idle", fairness::waker_goes_on),
    ("a CPU does not interrupt itself to wake up", fairness::own_kicks),
    ("a thread that another class interrupts keeps its slice", fairness::interrupted),
    ("weights hold beside a thread that is bound to a CPU", contracts::bound),
    ("weights hold while light threads have another cache", contracts::stray),
    ("cpu.weight is honoured", contracts::weight),
    ("cpu.max is enforced", contracts::max),
    ("a thread of little weight has its turn", contracts::light),
    ("a real-time hog starves nobody", contracts::real_time),
    ("a real-time thread takes an idle CPU alone", contracts::real_time_wakes),
    ("a busy CPU asks for speed", contracts::speed),
    ("an isolated partition's CPU is its cgroup's alone", partition::isolated),
    ("an exclusive pool is its cgroup's alone", policy::exclusive_pool),
    ("a thread bound to exclusive CPUs does not starve", policy::locked_in),
    ("a bad policy keeps the old one in force", policy::bad_policy),
];

/// Boots guests and runs all checks; prints a line for each and `N passed, N failed`.
///
/// # Errors
/// When a guest does not boot, or any check fails.
pub fn run(options: &TestOptions) -> Result<()> {
    options.workload.check()?;
    options.workload.check_own("lab test")?;
    options.guest.check_one_nic("lab test")?;
    if let Some(inside) = &options.inside {
        return options.run_inside(inside);
    }
    for text in &options.only {
        let named = GUESTS.iter().flat_map(|group| group.checks).any(|it| it.0.contains(text));
        ensure!(named, "no check's name contains {text:?}");
    }
    let all = GUESTS.iter().map(|group| options.chosen(group).len()).sum::<usize>();
    let progress = Progress::rounds(all as u64);
    let failed = match options.clock {
        Clock::Model => clocked::run(options, all, &progress)?,
        Clock::Real => options.run_real(&progress)?,
    };
    drop(progress);
    println!("{} passed, {failed} failed", all - failed);
    ensure!(failed == 0, "scx_steer failed {failed} checks on {}", options.guest.kernel);
    Ok(())
}

impl TestOptions {
    /// The checks of a group that are asked for.
    fn chosen(&self, group: &Group) -> Vec<&'static Check> {
        let named = |name: &str| self.only.iter().any(|text| name.contains(text));
        group.checks.iter().filter(|check| self.only.is_empty() || named(check.0)).collect()
    }

    /// Runs the checks of one guest inside it. Whether they pass is in what they print.
    fn run_inside(&self, inside: &Inside) -> Result<()> {
        let group = GUESTS.get(inside.number).context("there is no guest of this number")?;
        let stop: &'static Stop = Box::leak(Box::new(Stop::on_signal()?));
        let boot = || {
            let cpus: Vec<usize> = (0..self.guest.shape.cpus()).collect();
            let guest = Guest::inside(&cpus, inside.net.as_deref(), stop)?;
            let mut bench = Bench::new(guest, self.workload.clone(), false)?;
            // the clients' node is behind those that are measured
            bench.facts.nodes.truncate(self.guest.shape.sockets);
            Ok(bench)
        };
        self.run_group(group, boot, &Progress::spinner()).map(drop)
    }

    /// Runs all checks by the real clock. Returns how many failed.
    fn run_real(&self, progress: &Progress) -> Result<usize> {
        let mut failed = 0;
        for group in GUESTS.iter().filter(|group| !self.chosen(group).is_empty()) {
            let boot = || {
                let mut guest = self.guest.clone();
                guest.kernel_words = format!("{} {}", guest.kernel_words, group.kernel_words);
                let guest = Guest::boot(&guest, None, progress)?;
                Bench::new(guest, self.workload.clone(), self.record)
            };
            failed += self.run_group(group, boot, progress)?;
        }
        Ok(failed)
    }

    /// Runs the checks of one guest. Returns how many failed.
    fn run_group(
        &self,
        group: &Group,
        boot: impl Fn() -> Result<Bench>,
        progress: &Progress,
    ) -> Result<usize> {
        let mut bench = boot()?;
        let mut boots = Boots::first();
        let mut failed = 0;
        let chosen = self.chosen(group);
        for (number, &&(name, check)) in (1..).zip(&chosen) {
            progress.step(name);
            let keep = !group.fresh && number < chosen.len();
            let result = boots.run(&mut bench, progress, &boot, |bench| bench.run(check, keep));
            let result = result.with_context(|| name)?;
            progress.advance();
            let figures = std::mem::take(&mut bench.figures);
            match result {
                Ok(()) => progress.say(&format!("{PASSED}{name}{figures}")),
                Err(error) => {
                    failed += 1;
                    // one line, as the host reads lines
                    let why = format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ");
                    progress.say(&format!("{FAILED}{name}: {why}"));
                }
            }
        }
        Ok(failed)
    }
}

/// What the line of a check begins with.
const PASSED: &str = "ok     ";
const FAILED: &str = "FAILED ";
