//! CPU hogs: threads that never sleep. They stand for the host's other work, in every arm. Their
//! number may change with the stages of the load.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::stage;
use steer_ground::cpus::CpuList;
use steer_ground::stop::Stop;
use steer_ground::units::Seconds;

/// Steps of work between two readings of the clock: some ten microseconds, and a hundred times that
/// in an emulator.
const STEPS: u32 = 1 << 14;

/// Where and when hogs run.
#[derive(Debug, Clone)]
pub struct HogOptions {
    /// The CPUs of each hog, like 0-1,4.
    pub sets: Vec<CpuList>,
    /// Hogs of each set in each stage of a shifting load, like 1,0,4.
    pub stages: Vec<u16>,
    /// Seconds before the first stage is counted. Its hogs already run.
    pub lead: Seconds,
    /// Length of all stages together, in seconds. All have the same length; the hogs of the last
    /// continue afterwards.
    pub duration: Seconds,
}

/// The hogs print this at the end, before the number of spins in the counted time.
const SPINS: &str = "spins: ";

/// The hogs' count of spins, from what they printed.
pub fn spins(said: &str) -> Option<f64> {
    said.lines().find_map(|line| line.strip_prefix(SPINS)?.parse().ok())
}

/// Spins threads on each CPU set until SIGINT or SIGTERM. Prints `ready` once all have started. If
/// there is a counted time, prints at the end how often they spun in it.
///
/// # Errors
/// When a set contains a CPU that cannot be used here.
pub fn run(options: HogOptions) -> Result<()> {
    ensure!(
        options.stages.len() == 1 || !options.duration.duration().is_zero(),
        "--stages needs --duration"
    );
    let stop = Stop::on_signal()?;
    for set in &options.sets {
        set.check().context("--cpus")?;
    }
    let most = options.stages.iter().max().copied().unwrap_or_default();
    let shift = Shift {
        begin: Instant::now() + options.lead.duration(),
        length: options.duration.duration(),
        stages: options.stages,
        spins: Arc::default(),
    };
    let hogs =
        options.sets.into_iter().flat_map(|set| (0..most).map(move |rank| (set.clone(), rank)));
    for (index, (set, rank)) in hogs.enumerate() {
        let shift = shift.clone();
        thread::Builder::new()
            .name(format!("hog-{index}"))
            .spawn(move || {
                if let Err(error) = set.pin_current_thread() {
                    eprintln!("steer-bench: hog-{index} runs unpinned: {error:#}");
                }
                toil(rank, &shift)
            })
            .with_context(|| format!("cannot start hog-{index}"))?;
    }
    println!("ready");
    stop.wait()?;
    if !shift.length.is_zero() {
        println!("{SPINS}{}", shift.spins.load(Ordering::Relaxed));
    }
    Ok(())
}

/// The schedule: how many hogs of each set run in which stage.
#[derive(Debug, Clone)]
struct Shift {
    begin: Instant,
    length: Duration,
    stages: Vec<u16>,
    /// Spins of all hogs in the counted time.
    spins: Arc<AtomicU64>,
}

impl Shift {
    /// The stage at a moment, and when it ends. The last stage does not end.
    fn at(&self, now: Instant) -> (usize, Option<Instant>) {
        let count = self.stages.len();
        let ends = (1..count).map(|next| self.begin + stage::begin(self.length, next, count));
        let next = ends.enumerate().find(|(_, end)| now < *end);
        next.map_or((count - 1, None), |(stage, end)| (stage, Some(end)))
    }

    /// Counts a spin that ended at `now`.
    fn count(&self, now: Instant) {
        if (self.begin..self.begin + self.length).contains(&now) {
            self.spins.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Runs for ever. Works in stages with more than `rank` hogs per set, and sleeps in the others.
fn toil(rank: u16, shift: &Shift) -> ! {
    /// No stage follows: sleep again and again.
    const LONG: Duration = Duration::from_secs(3600);
    loop {
        let now = Instant::now();
        let (stage, end) = shift.at(now);
        let left = end.map_or(LONG, |end| end - now);
        if rank < shift.stages[stage] {
            while now.elapsed() < left {
                spin();
                shift.count(Instant::now());
            }
        } else {
            thread::sleep(left);
        }
    }
}

/// Spends CPU time without system calls or memory traffic.
pub(super) fn spin() {
    let mut work = 0u64;
    for _ in 0..STEPS {
        work = black_box(work.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hogs_say_what_they_did() {
        assert_eq!(spins("ready\nspins: 17\n"), Some(17.0));
        assert_eq!(spins("ready\n"), None);
    }

    #[test]
    fn stages_of_hogs_follow_each_other() {
        let begin = Instant::now();
        let seconds = Duration::from_secs;
        let shift = |length, stages| Shift { begin, length, stages, spins: Arc::default() };
        let ever = shift(Duration::ZERO, vec![1]);
        let shift = shift(seconds(6), vec![1, 0, 4]);
        let at = |seconds| shift.at(begin + Duration::from_millis(seconds));
        assert_eq!(at(0), (0, Some(begin + Duration::from_secs(2))));
        assert_eq!(at(1999).0, 0);
        assert_eq!(at(2000), (1, Some(begin + Duration::from_secs(4))));
        assert_eq!(at(4000), (2, None));
        assert_eq!(at(60_000), (2, None), "the last goes on");
        assert_eq!(ever.at(begin), (0, None));
        let outside = [begin - seconds(1), begin + seconds(6)];
        outside.into_iter().for_each(|moment| shift.count(moment));
        shift.count(begin + seconds(5));
        assert_eq!(shift.spins.load(Ordering::Relaxed), 1);
    }
}
