//! What a client demands of the sender of a long flow. If the server is to send, the demand is the
//! first message on a connection to its `--long-out-port`.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::pace::Pacer;
use steer_ground::units::Rate;

/// Longest chunk in bytes.
pub const MAX_CHUNK: u64 = 64 << 20;
/// Longest time from chunk to chunk. A sender notices only at the next chunk that its peer has
/// left.
const MAX_INTERVAL: Duration = Duration::from_secs(60);
/// Longest wait for each byte of a demand.
const PATIENCE: Duration = Duration::from_secs(5);

/// How to send a long flow, within the bounds above.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    rate: Rate,
    chunk: u64,
    first: Duration,
}

impl Demand {
    /// Bytes on the wire.
    const LEN: usize = 32;
    const MAGIC: [u8; 8] = *b"steerlg1";

    /// Demands chunks of `chunk` bytes at `rate`. The first is due after `first`.
    ///
    /// # Errors
    /// When the chunk is empty or too long, or chunks would be too far apart.
    pub fn new(rate: Rate, chunk: u64, first: Duration) -> Result<Self> {
        ensure!(
            (1..=MAX_CHUNK).contains(&chunk),
            "a long flow in chunks of {chunk} bytes; 1 to {MAX_CHUNK} are allowed"
        );
        let longest = rate.time_for(chunk).unwrap_or_default().max(first);
        ensure!(
            longest <= MAX_INTERVAL,
            "a long flow with {longest:?} from chunk to chunk; at most {MAX_INTERVAL:?} are allowed: \
             raise the rate, or make the chunks smaller"
        );
        Ok(Self { rate, chunk, first })
    }

    /// Bytes of a chunk.
    pub fn chunk(&self) -> u64 {
        self.chunk
    }

    /// The pacer of a flow that begins at `start`.
    pub(crate) fn pacer(&self, start: Instant) -> Pacer {
        Pacer::new(start + self.first, self.rate.time_for(self.chunk))
    }

    /// The bytes to send.
    pub fn encode(&self) -> [u8; Self::LEN] {
        // It fits: `new` has checked its bound.
        let first = self.first.as_micros() as u64;
        let numbers = [self.rate.bits_per_s().unwrap_or_default(), self.chunk, first];
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&Self::MAGIC);
        for (place, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    /// When the peer is not a `steer-bench client` of this version, or when [`Self::new`] refuses
    /// the demand.
    fn decode(bytes: [u8; Self::LEN]) -> Result<Self> {
        let number = |word: &[u8; 8]| u64::from_le_bytes(*word);
        match bytes.as_chunks().0 {
            [magic, bits, chunk, first] if *magic == Self::MAGIC => {
                let first = Duration::from_micros(number(first));
                Self::new(Rate::of(number(bits)), number(chunk), first)
            }
            _ => bail!("the peer does not speak this version of the long-flow protocol"),
        }
    }

    /// Waits for a demand on a new connection, for a bounded time.
    ///
    /// # Errors
    /// When no demand arrives, or it is invalid.
    pub fn receive(mut stream: &TcpStream) -> Result<Self> {
        // In the worst case this applies to each byte, but there are only a few.
        stream.set_read_timeout(Some(PATIENCE)).context("cannot set SO_RCVTIMEO")?;
        let mut bytes = [0; Self::LEN];
        stream.read_exact(&mut bytes).context("the client sent no demand")?;
        Self::decode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    proptest! {
        #[test]
        fn what_is_demanded_arrives(bits in 40_000_000u64.., chunk in 1..=MAX_CHUNK, ms in 0u64..60_000) {
            let first = Duration::from_millis(ms);
            for rate in [Rate::of(bits), Rate::of(0)] {
                let demand = Demand::new(rate, chunk, first).unwrap();
                prop_assert_eq!(Demand::decode(demand.encode()).unwrap(), demand);
            }
        }

        /// Any input gives a demand within the bounds, or an error.
        #[test]
        fn garbage_is_bounded(garbage in any::<[u8; Demand::LEN]>(), known in any::<bool>()) {
            let mut bytes = garbage;
            if known {
                bytes[..8].copy_from_slice(&Demand::MAGIC);
            }
            if let Ok(demand) = Demand::decode(bytes) {
                prop_assert!(known && demand.chunk <= MAX_CHUNK && demand.first <= MAX_INTERVAL);
            }
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_refused_with_the_bound() {
        let none = Rate::of(0);
        for (demand, message) in [
            (Demand::new(none, 0, SECOND), "chunks of 0 bytes; 1 to 67108864"),
            (Demand::new(none, MAX_CHUNK + 1, SECOND), "67108865 bytes; 1 to"),
            (Demand::new(Rate::of(8), 61, SECOND), "61s from chunk to chunk; at most 60s"),
            (Demand::new(none, 1, 61 * SECOND), "61s from chunk to chunk"),
        ] {
            let error = demand.unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let stranger =
            Demand::decode(*b"GET / HTTP/1.1\r\nHost: localhost\r\n".first_chunk().unwrap());
        assert!(stranger.unwrap_err().to_string().contains("does not speak"));
    }
}
