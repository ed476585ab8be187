//! A result in a few lines: the medians of the main metrics, by steering mode and arm.

use super::metrics::METRICS;
use super::types::AbResult;

/// The metrics that are shown.
const SHOWN: [&str; 6] = [
    "local_share",
    "home_share",
    "mixed_share",
    "throughput_per_core",
    "rpcs_per_cpu_second",
    "rpc_p99",
];

/// One line per steering mode and arm.
pub fn brief(result: &AbResult) -> String {
    let shown = METRICS.iter().filter(|metric| SHOWN.contains(&metric.name));
    let mut text = String::new();
    for (name, mode) in &result.modes {
        for arm in mode.arms.keys() {
            text.push_str(&format!("  {name:<9} {arm:<12}"));
            for metric in shown.clone() {
                let value = mode.median(arm, metric.name);
                let value = value.map_or_else(|| "–".to_owned(), |value| metric.show(value));
                text.push_str(&format!("  {} {value}{}", metric.name, metric.unit));
            }
            text.push('\n');
        }
    }
    text
}
