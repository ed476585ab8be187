//! The archived run that tests read: a real one, of before some metrics were recorded.

/// Three arms in three steering modes.
pub(crate) const DEMO: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../result/tests/archived/result.json");
/// Two arms in one mode, iperf3's long flows.
#[allow(dead_code, reason = "not every test reads both runs")]
pub(crate) const DEMO_IPERF3: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../result/tests/archived/iperf3.json");
