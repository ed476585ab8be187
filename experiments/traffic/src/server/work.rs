//! What the RPC service computes for each reply, if it is to do more than to answer.

use std::hint::black_box;

/// Reads `bytes` of `memory`, in whole words and from its start again whenever it ends, and folds
/// them into one number. A multiplication for each word waits for the one before it (the step of the
/// hash FNV-1a), so the time is the core's as well as the caches'. Results do not matter.
pub(super) fn compute(memory: &[u8], bytes: u64) {
    const PRIME: u64 = 0x100_0000_01b3;
    let (words, _) = memory.as_chunks::<8>();
    let words = words.iter().cycle().take((bytes / 8) as usize);
    let hash = words.fold(0, |hash, word| (hash ^ u64::from_ne_bytes(*word)).wrapping_mul(PRIME));
    black_box(hash);
}
