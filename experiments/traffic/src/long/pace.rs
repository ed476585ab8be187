//! Pacing by chunk: chunk n is due at start + n × interval, whatever happened to earlier chunks. So
//! errors do not add up and the rate does not drift. After a stall the flow catches up.

use std::time::{Duration, Instant};

/// The clock of one flow.
#[derive(Debug)]
pub struct Pacer {
    start: Instant,
    /// Time one chunk takes at the wanted rate; `None` when the rate is unlimited.
    interval: Option<Duration>,
    chunks: u32,
}

impl Pacer {
    /// A clock whose first chunk is due at `start`.
    pub fn new(start: Instant, interval: Option<Duration>) -> Self {
        Self { start, interval, chunks: 0 }
    }

    /// When the next chunk is due; `None` if at once.
    pub fn due(&self) -> Option<Instant> {
        // If the time is beyond the range of the clock, take one day from now: that is far enough.
        const FAR: Duration = Duration::from_secs(86_400);
        let offset = self.interval?.checked_mul(self.chunks).unwrap_or(FAR).min(FAR);
        Some(self.start + offset)
    }

    /// Counts a chunk as sent.
    pub fn sent(&mut self) {
        self.chunks = self.chunks.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Bytes due by time t never exceed rate × t + one chunk, and never fall a chunk short.
        #[test]
        fn the_rate_is_kept(interval_us in 1u64..1_000_000, elapsed_us in 0u64..10_000_000) {
            let start = Instant::now();
            let mut pacer = Pacer::new(start, Some(Duration::from_micros(interval_us)));
            let now = start + Duration::from_micros(elapsed_us);
            let mut chunks = 0;
            while pacer.due().unwrap() <= now && chunks < 100_000 {
                pacer.sent();
                chunks += 1;
            }
            prop_assume!(chunks < 100_000);
            prop_assert_eq!(chunks, elapsed_us / interval_us + 1);
        }
    }

    #[test]
    fn an_unlimited_flow_is_always_due() {
        assert_eq!(Pacer::new(Instant::now(), None).due(), None);
    }
}
