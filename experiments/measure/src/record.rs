//! Parses the records of a sampler's ring buffer (perf_event_open(2), linux/perf_event.h). We
//! request one kind of sample: its period, then its stack.

/// PERF_RECORD_LOST, _THROTTLE and _SAMPLE.
const LOST: u32 = 2;
const THROTTLE: u32 = 5;
const SAMPLE: u32 = 9;

/// PERF_RECORD_MISC_CPUMODE_MASK, and the mode of the kernel.
const MODE_MASK: u16 = 0x7;
const MODE_KERNEL: u16 = 1;

/// From here up, an entry of a stack is a mark (PERF_CONTEXT_KERNEL and others), not an address.
const FIRST_MARK: u64 = -4095i64 as u64;

/// A record, reduced to what is needed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// The kernel ran. Has its stack, leaf first. `weight` is the time or the cycles that the
    /// sample stands for.
    Kernel {
        /// Time or cycles.
        weight: u64,
        /// Addresses.
        stack: Vec<u64>,
    },
    /// User space ran, or a virtual machine: /proc/stat also counts that as user space.
    User {
        /// Time or cycles.
        weight: u64,
    },
    /// This many samples were lost because the buffer was full.
    Lost(u64),
    /// The kernel paused the sampler because it took too much time.
    Throttled,
    /// Anything else.
    Other,
}

impl Record {
    /// Parses a record from its type, its flags and the bytes after its header. `None` when it is
    /// shorter than its fields say.
    pub(crate) fn parse(kind: u32, misc: u16, body: &[u8]) -> Option<Self> {
        let mut words = body.chunks_exact(8).map(|bytes| {
            let mut word = [0; 8];
            word.copy_from_slice(bytes);
            u64::from_ne_bytes(word)
        });
        match kind {
            SAMPLE => {
                let weight = words.next()?;
                let length = usize::try_from(words.next()?).ok()?;
                if misc & MODE_MASK != MODE_KERNEL {
                    return Some(Self::User { weight });
                }
                let stack: Vec<_> = words.collect();
                let stack = stack.get(..length)?.iter().copied();
                Some(Self::Kernel { weight, stack: stack.filter(|ip| *ip < FIRST_MARK).collect() })
            }
            LOST => words.nth(1).map(Self::Lost),
            THROTTLE => Some(Self::Throttled),
            _ => Some(Self::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn records_are_told_apart() {
        let kernel_mark = -128i64 as u64;
        let sample = bytes(&[1000, 3, kernel_mark, 0x10, 0x20]);
        let kernel = Record::Kernel { weight: 1000, stack: vec![0x10, 0x20] };
        assert_eq!(Record::parse(SAMPLE, 1, &sample), Some(kernel.clone()));
        assert_eq!(Record::parse(SAMPLE, 1 | 1 << 14, &sample), Some(kernel));
        for mode in [2, 4, 5] {
            let user = Some(Record::User { weight: 7 });
            assert_eq!(Record::parse(SAMPLE, mode, &bytes(&[7, 0])), user);
        }
        assert_eq!(Record::parse(LOST, 0, &bytes(&[1, 42])), Some(Record::Lost(42)));
        assert_eq!(Record::parse(THROTTLE, 0, &bytes(&[1, 2, 3])), Some(Record::Throttled));
        assert_eq!(Record::parse(6, 0, &bytes(&[1, 2, 3])), Some(Record::Other));
    }

    #[test]
    fn a_record_that_is_cut_short_is_none() {
        for body in [&[][..], &[1], &[1, 3, 0x10, 0x20], &[1, u64::MAX, 5]] {
            assert_eq!(Record::parse(SAMPLE, 1, &bytes(body)), None, "{body:?}");
        }
        assert_eq!(Record::parse(LOST, 0, &bytes(&[1])), None);
    }

    proptest! {
        /// The parser never panics, whatever the bytes.
        #[test]
        fn garbage_is_read_without_panic(
            kind in 0u32..20, misc: u16, body in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = Record::parse(kind, misc, &body);
        }
    }
}
