//! How many cores take a NIC's interrupts follows the load, slowly. The numbers are those of
//! katalyst's irqtuner, which has run on many hosts.

use std::time::Duration;

/// At least and at most this share of the host's CPUs takes interrupts.
const LEAST: f64 = 0.02;
const MOST: f64 = 0.30;
/// The wanted share of a core's time on interrupts and softirq.
const AIM: f64 = 0.5;
/// More cores above this, fewer below that.
const GROW: f64 = 0.6;
const SHRINK: f64 = 0.4;
/// After a change, the opposite one waits for this long.
const REVERSAL: Duration = Duration::from_secs(300);

/// The number of cores of one NIC.
#[derive(Clone, Debug)]
pub struct Pace {
    least: usize,
    most: usize,
    cores: usize,
    /// When it last changed, and whether it grew.
    last: Option<(Duration, bool)>,
}

impl Pace {
    /// Starts with the most cores: `near` the NIC, on a host with this many CPUs `online`.
    pub fn new(online: usize, near: usize) -> Pace {
        let share = |share: f64| ((online as f64 * share).ceil() as usize).clamp(1, near.max(1));
        let most = share(MOST);
        Pace { least: share(LEAST).min(most), most, cores: most, last: None }
    }

    /// The cores that take interrupts now.
    pub fn cores(&self) -> usize {
        self.cores
    }

    /// The most it may be.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Takes note of the load at a time since some start: the mean share of their time that these
    /// cores spent on interrupts and softirq, and whether softirq ran out of time. Says whether the
    /// number changes, by one core.
    pub fn step(&mut self, at: Duration, busy: f64, overload: bool) -> bool {
        let after = |cores: usize| busy * self.cores as f64 / cores as f64;
        let grows = (overload || busy > GROW) && self.cores < self.most;
        let shrinks =
            !overload && busy < SHRINK && self.cores > self.least && after(self.cores - 1) <= AIM;
        let too_soon = self
            .last
            .is_some_and(|(then, grew)| grew != grows && at.saturating_sub(then) < REVERSAL);
        if !(grows || shrinks) || (too_soon && !overload) {
            return false;
        }
        if grows {
            self.cores += 1;
        } else {
            self.cores -= 1;
        }
        self.last = Some((at, grows));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn bounds_are_shares_of_the_host_and_the_cores_near_the_nic() {
        assert_eq!(Pace::new(128, 64).cores(), 39);
        assert_eq!(Pace::new(128, 16).cores(), 16);
        assert_eq!(Pace::new(4, 2).cores(), 2);
        assert_eq!(Pace::new(1, 0).cores(), 1);
    }

    #[test]
    fn an_idle_nic_gives_cores_back_one_by_one() {
        let mut pace = Pace::new(128, 8);
        for (second, cores) in [(5, 7), (10, 6), (15, 5), (20, 4), (25, 3), (30, 3)] {
            pace.step(at(second), 0.01, false);
            assert_eq!(pace.cores(), cores, "2 % of 128 CPUs are 3");
        }
    }

    #[test]
    fn it_does_not_shrink_into_what_would_grow_again() {
        let mut pace = Pace::new(8, 2);
        assert!(!pace.step(at(5), 0.39, false), "one core would be 78 % busy");
        assert!(pace.step(at(10), 0.2, false));
    }

    #[test]
    fn a_reversal_waits_unless_softirq_runs_out_of_time() {
        let mut pace = Pace::new(32, 8);
        assert!(pace.step(at(5), 0.1, false));
        assert!(!pace.step(at(10), 0.9, false), "it shrank 5 s ago");
        assert!(!pace.step(at(300), 0.9, false));
        assert!(pace.clone().step(at(305), 0.9, false));
        assert!(pace.step(at(10), 0.9, true));
        assert_eq!(pace.cores(), 8);
    }

    proptest! {
        /// Whatever the load, the number stays within bounds, moves by one, and does not flap.
        #[test]
        fn it_is_bounded_and_calm(loads in prop::collection::vec(0.0..1.0f64, 1..200)) {
            let mut pace = Pace::new(64, 16);
            let mut moves: Vec<(u64, bool)> = Vec::new();
            for (index, load) in loads.into_iter().enumerate() {
                let (before, second) = (pace.cores(), 5 * index as u64);
                pace.step(at(second), load, false);
                prop_assert!((2..=16).contains(&pace.cores()));
                prop_assert!(pace.cores().abs_diff(before) <= 1);
                if pace.cores() != before {
                    moves.push((second, pace.cores() > before));
                }
            }
            for pair in moves.windows(2) {
                prop_assert!(pair[0].1 == pair[1].1 || pair[1].0 - pair[0].0 >= 300);
            }
        }
    }
}
