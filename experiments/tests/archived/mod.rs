//! The archived runs that tests read: real results, in one place.

/// Three arms in three steering worlds.
pub(crate) const DEMO: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/runs/2026-11-22-demo/result.json");
/// Two arms in one world, iperf3's long flows.
#[allow(dead_code, reason = "not every test reads both runs")]
pub(crate) const DEMO_IPERF3: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/runs/2026-11-22-demo/iperf3.json");
