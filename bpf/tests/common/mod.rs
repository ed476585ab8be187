//! What the tests of this crate share.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::os::unix::fs::MetadataExt;

use steer_bpf::intf::{class_settings, native_steering_vote, nic_steering};

/// A NIC of which nothing is learned yet.
pub(crate) const UNKNOWN_STEERING: nic_steering =
    nic_steering { score: 0, probes: 0, next_probe_ns: 0, next_retest_ns: 0 };

/// A thread was moved; its packets followed, or did not.
pub(crate) fn steering_vote(s: &mut nic_steering, followed: bool) {
    // SAFETY: points to a live struct.
    unsafe { native_steering_vote(s, followed) }
}

/// The default settings, written out: these tests hold the behaviour fast, not the defaults.
pub(crate) fn settings() -> class_settings {
    class_settings {
        long_burst_bytes: 64 << 10,
        short_burst_bytes: 16 << 10,
        idle_gap_ns: 1_000_000,
        half_life_ns: 100_000_000,
        cost_ns_per_kib: 195,
        cost_ns_per_message: 4500,
        floor_ns: 10_000,
        short_bursts_to_leave_long: 8,
    }
}

/// Whether BPF programs can be loaded; says so if `test` is skipped because they cannot.
pub(crate) fn is_root(test: &str) -> bool {
    // SAFETY: no memory is touched.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("SKIPPED {test}: needs root");
    }
    root
}

/// The network namespace of the calling thread.
pub(crate) fn own_namespace() -> u32 {
    let file = std::fs::metadata("/proc/thread-self/ns/net").expect("procfs is mounted");
    file.ino().try_into().expect("the kernel numbers namespaces in 32 bits")
}
