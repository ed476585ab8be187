//! A rota for connections that think between two requests. Each connection has one turn in each
//! period. Turns are spread evenly over the period, and repeat exactly one period later. So no
//! state per connection is needed, and turns do not drift together.

use std::time::{Duration, Instant};

/// The rota of the connections of one thread.
#[derive(Debug)]
pub(super) struct Turns {
    start: Instant,
    period: Duration,
    connections: u32,
    /// Turns taken so far.
    taken: u64,
}

impl Turns {
    /// A rota of one or more connections. The first has its turn at `start`.
    pub(super) fn new(start: Instant, period: Duration, connections: u32) -> Self {
        Self { start, period, connections, taken: 0 }
    }

    /// When the next turn is.
    pub(super) fn due(&self) -> Instant {
        let all = u64::from(self.connections);
        let (periods, turn) = (self.taken / all, self.taken % all);
        // Compute it exactly: adding up rounded parts of a period would drift.
        let into = self.period.as_nanos() * u128::from(turn) / u128::from(all);
        let whole = self.period.as_nanos() * u128::from(periods);
        // 64 bits hold the nanoseconds of centuries.
        self.start + Duration::from_nanos((whole + into) as u64)
    }

    /// Takes the next turn if it is due. Returns its connection, and when it became due.
    pub(super) fn take(&mut self, now: Instant) -> Option<(u32, Instant)> {
        let due = self.due();
        (due <= now).then(|| {
            let whose = (self.taken % u64::from(self.connections)) as u32;
            self.taken += 1;
            (whose, due)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whenever the thread checks, each connection has had one turn per period, and none early.
        #[test]
        fn each_has_one_turn_per_period(
            connections in 1u32..500,
            period_us in 1u64..10_000_000,
            looks_us in prop::collection::vec(0u64..5_000_000, 1..20),
        ) {
            let (start, period) = (Instant::now(), Duration::from_micros(period_us));
            let mut turns = Turns::new(start, period, connections);
            let mut of_first = Vec::new();
            let (mut now, mut whose_next, mut before) = (start, 0, start);
            for look in looks_us {
                now += Duration::from_micros(look);
                for _ in 0..2000 {
                    let Some((whose, due)) = turns.take(now) else { break };
                    prop_assert_eq!(whose, whose_next);
                    whose_next = (whose_next + 1) % connections;
                    prop_assert!(before <= due && due <= now);
                    before = due;
                    if whose == 0 {
                        of_first.push(due);
                    }
                }
            }
            prop_assert!(of_first.windows(2).all(|two| two[1] - two[0] == period));
            prop_assert!(of_first.first().is_none_or(|first| *first == start));
        }

        #[test]
        fn turns_are_spread_evenly(connections in 1u32..1000, period_us in 1u64..10_000_000) {
            let (start, period) = (Instant::now(), Duration::from_micros(period_us));
            let mut turns = Turns::new(start, period, connections);
            let late = start + 2 * period;
            let dues: Vec<_> = (0..=connections).map(|_| turns.take(late).unwrap().1).collect();
            let even = period.as_nanos() / u128::from(connections);
            for two in dues.windows(2) {
                prop_assert!((two[1] - two[0]).as_nanos().abs_diff(even) <= 1);
            }
            prop_assert_eq!(dues[connections as usize], start + period);
        }
    }
}
