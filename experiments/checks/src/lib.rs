//! `steer-bench lab test`: scx_steer in a guest under traffic. Nothing may harm it or the host: hot
//! unload, a second instance, CPU hotplug, a NIC that disappears, threads that only compute,
//! policies for cgroups.

mod bench;
mod contracts;
mod fairness;
mod follow;
mod life;
mod policy;
mod served;
mod situation;
mod sizes;
pub mod soak;
mod status;
mod tickless;

use anyhow::{Context, Result, ensure};

use bench::Bench;
use steer_ground::progress::Progress;
use steer_lab::guest::{Guest, GuestOptions, MOST_BOOTS};
use steer_scenario::workload::Workload;

/// Which checks to run, and on what.
#[derive(Debug, Clone)]
pub struct TestOptions {
    /// Run only the checks whose names contain this.
    pub only: String,
    /// Make a new record of program sizes for this kernel (experiments/program-sizes.json,
    /// below the current folder) instead of comparing with it.
    pub record: bool,
    /// The traffic, and what runs beside it.
    pub workload: Workload,
    /// The guest.
    pub guest: GuestOptions,
}

/// A named check.
type Check = (&'static str, fn(&mut Bench) -> Result<()>);

/// Checks that share a guest, by its words for the kernel's command line.
const GUESTS: [(&str, &[Check]); 2] = [("", &CHECKS), (tickless::WORDS, &TICKLESS)];

const TICKLESS: [Check; 1] = [("a CPU of nohz_full= keeps its tick off", tickless::alone)];

const CHECKS: [Check; 24] = [
    ("programs are of the sizes on record", sizes::as_recorded),
    ("it starts without a warning", life::starts_without_warning),
    ("a second instance is refused", life::second_instance),
    ("a thread that moves to another CPU does not starve", fairness::newcomer),
    ("two threads share a CPU by weight", fairness::weights),
    ("weights hold beside a thread that is bound to a CPU", contracts::bound),
    ("cpu.weight is honoured", contracts::weight),
    ("cpu.max is enforced", contracts::max),
    ("a thread of little weight has its turn", contracts::light),
    ("a real-time hog starves nobody", contracts::real_time),
    ("a real-time thread takes an idle CPU alone", contracts::real_time_wakes),
    ("a busy CPU asks for speed", contracts::speed),
    ("traffic passes", life::traffic),
    ("SIGTERM under traffic brings the default scheduler back", |bench| {
        life::unload(bench, libc::SIGTERM)
    }),
    ("SIGINT under traffic brings the default scheduler back", |bench| {
        life::unload(bench, libc::SIGINT)
    }),
    ("reloading under traffic leaves nothing behind", life::reloads),
    ("CPU hotplug under traffic restarts it", life::hotplug),
    ("it outlives its NIC", life::nic_disappears),
    ("short-flow threads follow their packets to free CPUs", follow::short_flows),
    ("a server declared long is placed as one, its twin is not", policy::declared_class),
    ("an exclusive pool is its cgroup's alone", policy::exclusive_pool),
    ("a thread bound to exclusive CPUs does not starve", policy::locked_in),
    ("a policy that flips under traffic drops no request", policy::flips_under_traffic),
    ("a bad policy keeps the old one in force", policy::bad_policy),
];

/// Boots guests and runs all checks; prints a line for each and `N passed, N failed`.
///
/// # Errors
/// When a guest does not boot, or any check fails.
pub fn run(options: TestOptions) -> Result<()> {
    let chosen = |checks: &'static [Check]| -> Vec<&Check> {
        checks.iter().filter(|check| check.0.contains(&options.only)).collect()
    };
    let guests = GUESTS.map(|(words, checks)| (words, chosen(checks)));
    let all = guests.iter().map(|(_, checks)| checks.len()).sum::<usize>();
    ensure!(all > 0, "no check's name contains {:?}", options.only);
    options.workload.check()?;
    options.workload.check_own("lab test")?;
    options.guest.check_one_nic("lab test")?;
    let progress = Progress::rounds(all as u64);
    let mut failed = 0;
    for (words, checks) in guests {
        if !checks.is_empty() {
            failed += options.run(words, &checks, &progress)?;
        }
    }
    drop(progress);
    println!("{} passed, {failed} failed", all - failed);
    ensure!(failed == 0, "scx_steer failed {failed} checks on {}", options.guest.kernel);
    Ok(())
}

impl TestOptions {
    /// Runs checks in one guest. Returns how many failed.
    fn run(&self, words: &str, checks: &[&Check], progress: &Progress) -> Result<usize> {
        let mut bench = self.bench(words, progress)?;
        let mut boots = 1;
        let mut failed = 0;
        for &&(name, check) in checks {
            progress.step(name);
            let result = loop {
                let result = bench.run(check);
                let broken = bench.guest.broken_by_emulator().filter(|_| boots < MOST_BOOTS);
                match (result, broken) {
                    (Err(_), Some(said)) => {
                        boots += 1;
                        progress.say(&format!("{said}; {name}: once more in a fresh one"));
                        drop(bench);
                        bench = self.bench(words, progress)?;
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
        Ok(failed)
    }

    fn bench(&self, words: &str, progress: &Progress) -> Result<Bench> {
        let mut guest = self.guest.clone();
        guest.kernel_words = format!("{} {words}", guest.kernel_words);
        let guest = Guest::boot(&guest, None, progress)?;
        Bench::new(guest, self.workload.clone(), self.record)
    }
}
