//! The Rust view of `src/bpf/intf.h` and `src/bpf/pure/`. bindgen generates it at build time.
#![allow(missing_docs, non_camel_case_types, non_upper_case_globals, unreachable_pub)]
// what bindgen makes of bit fields
#![allow(clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks)]

include!(concat!(env!("OUT_DIR"), "/intf.rs"));

/// Copies one of these types into the skeleton's type of the same C declaration.
pub(crate) fn copy_to_skeleton<From: Copy, To: Copy>(from: &From, to: &mut To) {
    const { assert!(size_of::<From>() == size_of::<To>()) };
    // SAFETY: both are repr(C) views of one C struct of integers, equal in size (checked above).
    *to = unsafe { std::mem::transmute_copy(from) };
}
