//! `steer-bench lab neutral`: what a scheduler costs where it cannot help. There is no traffic.
//! Programs that only switch, wake and fork are timed under each scheduler in turn.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use steer_ground::progress::Progress;
use steer_ground::tool;
use steer_lab::agent::Link;
use steer_lab::guest::{Guest, GuestOptions};
use steer_scenario::arm::{self, Arm};
use steer_scenario::scheduler;
use steer_stats::{Ratio, median};

/// Longest run of one program in an emulated guest.
const LONGEST: Duration = Duration::from_secs(120);
/// Writes the unit that `compile` compiles.
const WRITE_UNIT: &str = "i=0; while [ $i -lt 4000 ]; do echo \"int f$i(int x) { int y = x * $i; \
                          while (y > 3) y = y / 2 + f0(y); return y; }\"; i=$((i + 1)); done >/tmp/unit.c";
/// The programs, by name; each is timed as a whole.
const PROGRAMS: [(&str, &str); 3] = [
    ("messaging", "perf bench sched messaging --group 2 --nr_loops 50"),
    ("pipe", "perf bench sched pipe --loop 5000"),
    (
        "compile",
        "for i in 1 2 3 4 5 6 7 8; do tcc -w -c /tmp/unit.c -o /tmp/unit$i.o & done; wait; \
         test -s /tmp/unit8.o",
    ),
];

/// What to compare, and how often.
#[derive(Debug, Clone)]
pub struct NeutralOptions {
    /// Rounds. In each, every program is timed once under each scheduler.
    pub pairs: u32,
    /// The schedulers, as for `ab`. The others are compared with the first.
    pub arms: Vec<Arm>,
    /// The guest.
    pub guest: GuestOptions,
}

/// Seconds that each program took.
type Times = [f64; PROGRAMS.len()];

/// Times all programs and prints the ratios.
///
/// # Errors
/// When a program is missing on this machine or fails in the guest.
pub fn run(mut options: NeutralOptions) -> Result<()> {
    ensure!(
        options.arms.iter().all(|arm| !arm.pinned && arm.tunings.is_empty()),
        "without traffic, there is nothing to pin or tune: use arms without pinning or settings"
    );
    arm::check_programs(&options.arms, &options.guest.programs()?)?;
    for program in ["perf", "tcc"] {
        options.guest.extra.push(tool::installed(program, "run make setup")?);
    }
    let progress = Progress::rounds(u64::from(options.pairs));
    let mut guest = Guest::boot(&options.guest, None, &progress)?;
    shell(&mut guest.link, WRITE_UNIT).context("writing the unit to compile")?;
    let mut rounds: Vec<Vec<Times>> = Vec::new();
    for round in 0..options.pairs as usize {
        progress.step(format!("round {} of {}", round + 1, options.pairs));
        let mut times = vec![Times::default(); options.arms.len()];
        // The order changes from round to round, so that a drift of the machine favours no
        // scheduler.
        for turn in 0..options.arms.len() {
            let arm = (round + turn) % options.arms.len();
            times[arm] = time_all(&mut guest.link, &options.arms[arm])?;
        }
        rounds.push(times);
        progress.advance();
    }
    let complaints = guest.complaints()?;
    ensure!(complaints.is_empty(), "the guest's kernel complains: {}", complaints.join(" | "));
    drop(progress);
    print(&options.arms, &rounds);
    Ok(())
}

fn time_all(link: &mut Link, arm: &Arm) -> Result<Times> {
    if let Some(command) = &arm.scheduler {
        scheduler::load(link, command)?;
    }
    let mut times = Times::default();
    for ((name, script), seconds) in PROGRAMS.iter().zip(&mut times) {
        let start = Instant::now();
        shell(link, script).with_context(|| format!("running {name} under {}", arm.name))?;
        *seconds = start.elapsed().as_secs_f64();
    }
    if arm.scheduler.is_some() {
        scheduler::unload(link, libc::SIGINT)?;
    }
    Ok(times)
}

fn shell(link: &mut Link, script: &str) -> Result<()> {
    let finished = link.run(&["sh", "-c", script], LONGEST)?;
    ensure!(finished.success(), "{}", finished.last_words());
    Ok(())
}

/// Prints one line per program and scheduler: median seconds, and the ratio to the first
/// scheduler's time.
fn print(arms: &[Arm], rounds: &[Vec<Times>]) {
    let reference = &arms[0].name;
    println!("{:<10} {:<14} {:>8}  time / {reference}'s", "program", "scheduler", "seconds");
    for (program, (name, _)) in PROGRAMS.iter().enumerate() {
        for (arm, Arm { name: scheduler, .. }) in arms.iter().enumerate() {
            let times: Vec<f64> = rounds.iter().map(|round| round[arm][program]).collect();
            let pairs: Vec<_> = rounds
                .iter()
                .map(|round| (Some(round[arm][program]), Some(round[0][program])))
                .collect();
            let ratio = match arm {
                0 => String::new(),
                _ => Ratio::paired(&pairs).map_or("-".to_owned(), |ratio| ratio.to_string()),
            };
            let seconds = median(&times).unwrap_or(f64::NAN);
            println!("{name:<10} {scheduler:<14} {seconds:>8.2}  {ratio}");
        }
    }
}
