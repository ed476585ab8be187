//! CPU hogs: threads that never sleep, the rest of the host's work in every arm. Their number may
//! shift with the load.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::{Args, value_parser};

use super::cpus::CpuList;
use super::stage;
use super::stop::Stop;
use super::units::Seconds;

/// Steps of work between two looks at the clock: some ten microseconds, in an emulator a hundred
/// times that.
const STEPS: u32 = 1 << 14;

/// Flags of `steer-bench hog`.
#[derive(Debug, Args)]
pub(crate) struct HogArgs {
    /// CPUs one hog may run on (like 0-1,4); repeat for more hogs.
    #[arg(long = "cpus", value_name = "LIST", required = true)]
    sets: Vec<CpuList>,
    /// Hogs of each set in each stage of a load that shifts, like 1,0,4.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    #[arg(value_parser = value_parser!(u16).range(0..=1024))]
    stages: Vec<u16>,
    /// Seconds before the first stage is counted; its hogs run already.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    lead: Seconds,
    /// Seconds of all stages together, of equal length; the hogs of the last go on afterwards.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    duration: Seconds,
}

/// What a hog says at its end, before the number of spins in the counted time.
pub(crate) const SPINS: &str = "spins: ";

/// Spins so many threads per CPU set until SIGINT or SIGTERM; prints `ready` once all have started,
/// and at the end what they did in the time of all stages, if there was any.
///
/// # Errors
/// When a set holds a CPU that cannot be used here.
pub(crate) fn run(args: HogArgs) -> Result<()> {
    ensure!(
        args.stages.len() == 1 || !args.duration.duration().is_zero(),
        "--stages needs --duration"
    );
    let stop = Stop::on_signal()?;
    for set in &args.sets {
        set.check().context("--cpus")?;
    }
    let most = args.stages.iter().max().copied().unwrap_or_default();
    let shift = Shift {
        begin: Instant::now() + args.lead.duration(),
        length: args.duration.duration(),
        stages: args.stages,
        spins: Arc::default(),
    };
    let hogs = args.sets.into_iter().flat_map(|set| (0..most).map(move |rank| (set.clone(), rank)));
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

/// When how many hogs of each set run.
#[derive(Debug, Clone)]
struct Shift {
    begin: Instant,
    length: Duration,
    stages: Vec<u16>,
    /// Of all hogs, within the length.
    spins: Arc<AtomicU64>,
}

impl Shift {
    /// The stage at a moment, and when it ends; the last one does not.
    fn at(&self, now: Instant) -> (usize, Option<Instant>) {
        let count = self.stages.len();
        let ends = (1..count).map(|next| self.begin + stage::begin(self.length, next, count));
        let next = ends.enumerate().find(|(_, end)| now < *end);
        next.map_or((count - 1, None), |(stage, end)| (stage, Some(end)))
    }

    /// Counts a spin that ended just now.
    fn count(&self, now: Instant) {
        if (self.begin..self.begin + self.length).contains(&now) {
            self.spins.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Works in the stages that have more hogs of a set than `rank`, sleeps in the others, for ever.
fn toil(rank: u16, shift: &Shift) -> ! {
    /// Nothing follows; a thread may sleep in pieces.
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
