//! The mode `auto`: tries `align` when the scheduler finds packets of long flows far from the NIC,
//! compares, and leaves it again if it does not help.

use std::time::Duration;

/// A measurement needs this much time and this many wake-ups of long-flow threads.
const TIME: Duration = Duration::from_secs(10);
const WAKE_UPS: u64 = 200;
/// After a change, packets in flight and the learning of homes need this long.
const SETTLE: Duration = Duration::from_secs(5);
/// With at least this share near the NIC, `align` has nothing left to improve.
const GOOD: f64 = 0.98;
/// It helps if the share grows by this much.
const GAIN: f64 = 0.05;
/// After `align` did not help, it is not tried again for this long.
const REST: Duration = Duration::from_secs(3600);

/// What the scheduler counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Wake-ups of long-flow threads that were placed near the NIC.
    pub near: u64,
    /// Wake-ups placed far from it, because their packets arrive there.
    pub far: u64,
    /// Softirq ran out of time since the last sample.
    pub overload: bool,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Nothing.
    Stay,
    /// Set the mode; the share near the NIC was this.
    Try(f64),
    /// Put it back: it has brought the share from the first to the second.
    Leave(f64, f64),
}

/// The judge of one NIC.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    state: State,
}

#[derive(Clone, Debug, Default)]
enum State {
    /// Waits for the first sample of a measurement without the mode.
    #[default]
    New,
    Measures(Since),
    /// The mode is in force and settles; the share before it was this.
    Settles(Duration, f64),
    Compares(Since, f64),
    /// It helped.
    Helped,
    /// It did not.
    Rests(Duration),
}

/// The start of a measurement.
#[derive(Clone, Copy, Debug)]
struct Since {
    at: Duration,
    first: Sample,
    overload: bool,
}

impl Judge {
    /// Whether the mode is to be in force.
    pub fn wants(&self) -> bool {
        matches!(self.state, State::Settles(..) | State::Compares(..) | State::Helped)
    }

    /// What it knows, in words.
    pub fn says(&self) -> &'static str {
        match self.state {
            State::New | State::Measures(_) => "measures without it",
            State::Settles(..) | State::Compares(..) => "tries align",
            State::Helped => "align helps",
            State::Rests(_) => "align did not help",
        }
    }

    /// The mode could not be set, or its device left: measures anew after a pause.
    pub fn failed(&mut self, at: Duration) {
        self.state = State::Rests(at);
    }

    /// Takes a sample at a time since some start.
    pub fn step(&mut self, at: Duration, sample: Sample) -> Next {
        let start = Since { at, first: sample, overload: false };
        match &mut self.state {
            State::New => self.state = State::Measures(start),
            State::Measures(since) => {
                let Some(share) = since.share(at, sample) else { return Next::Stay };
                if share < GOOD {
                    self.state = State::Settles(at, share);
                    return Next::Try(share);
                }
                self.state = State::Measures(start);
            }
            State::Settles(from, before) if at.saturating_sub(*from) >= SETTLE => {
                self.state = State::Compares(start, *before);
            }
            State::Settles(..) | State::Helped => {}
            State::Compares(since, before) => {
                let before = *before;
                let Some(share) = since.share(at, sample) else { return Next::Stay };
                if share >= before + GAIN && !since.overload {
                    self.state = State::Helped;
                } else {
                    self.state = State::Rests(at);
                    return Next::Leave(before, share);
                }
            }
            State::Rests(from) if at.saturating_sub(*from) >= REST => self.state = State::New,
            State::Rests(_) => {}
        }
        Next::Stay
    }
}

impl Since {
    /// The share of wake-ups near the NIC, once there are enough.
    fn share(&mut self, at: Duration, now: Sample) -> Option<f64> {
        self.overload |= now.overload;
        let near = now.near.saturating_sub(self.first.near);
        let all = near + now.far.saturating_sub(self.first.far);
        let enough = at.saturating_sub(self.at) >= TIME && all >= WAKE_UPS;
        enough.then(|| near as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a judge over seconds, with `per_second` wake-ups near and far; gives what it did.
    fn run(judge: &mut Judge, from: u64, to: u64, per_second: (u64, u64)) -> Vec<Next> {
        let sample = |second: u64| Sample {
            near: second * per_second.0,
            far: second * per_second.1,
            overload: false,
        };
        let steps =
            (from..to).map(|second| judge.step(Duration::from_secs(second), sample(second)));
        steps.filter(|next| *next != Next::Stay).collect()
    }

    #[test]
    fn without_long_flows_or_far_packets_nothing_is_tried() {
        assert_eq!(run(&mut Judge::default(), 0, 1000, (0, 0)), []);
        assert_eq!(run(&mut Judge::default(), 0, 1000, (100, 1)), []);
        assert_eq!(run(&mut Judge::default(), 0, 15, (0, 10)), [], "too few to say");
    }

    #[test]
    fn what_helps_stays() {
        let mut judge = Judge::default();
        assert_eq!(run(&mut judge, 0, 11, (50, 50)), [Next::Try(0.5)]);
        assert!(judge.wants());
        assert_eq!(run(&mut judge, 11, 500, (100, 0)), []);
        assert_eq!((judge.wants(), judge.says()), (true, "align helps"));
    }

    #[test]
    fn what_does_not_help_is_left_and_rests() {
        let mut judge = Judge::default();
        assert_eq!(run(&mut judge, 0, 11, (50, 50)), [Next::Try(0.5)]);
        assert_eq!(run(&mut judge, 11, 3000, (50, 50)), [Next::Leave(0.5, 0.5)]);
        assert!(!judge.wants());
        assert_eq!(run(&mut judge, 3000, 3640, (50, 50)), [Next::Try(0.5)], "an hour later");
    }

    #[test]
    fn overload_outweighs_a_better_share() {
        let mut judge = Judge::default();
        run(&mut judge, 0, 11, (50, 50));
        let mut left = Vec::new();
        for second in 11..60u64 {
            let sample = Sample { near: second * 100, far: 550, overload: second == 20 };
            left.push(judge.step(Duration::from_secs(second), sample));
        }
        assert!(left.iter().any(|next| matches!(next, Next::Leave(..))), "{left:?}");
    }

    #[test]
    fn a_failure_rests_as_well() {
        let mut judge = Judge::default();
        run(&mut judge, 0, 11, (50, 50));
        judge.failed(Duration::from_secs(11));
        assert_eq!(run(&mut judge, 12, 1000, (50, 50)), []);
    }
}
