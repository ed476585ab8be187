//! A result in a few lines: of each world and arm, the medians of the metrics that matter most.

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

/// One line per world and arm.
pub fn brief(result: &AbResult) -> String {
    let shown = METRICS.iter().filter(|metric| SHOWN.contains(&metric.name));
    let mut text = String::new();
    for (name, world) in &result.worlds {
        for arm in world.arms.keys() {
            text.push_str(&format!("  {name:<9} {arm:<12}"));
            for metric in shown.clone() {
                let value = world.median(arm, metric.name);
                let value = value.map_or_else(|| "–".to_owned(), |value| metric.show(value));
                text.push_str(&format!("  {} {value}{}", metric.name, metric.unit));
            }
            text.push('\n');
        }
    }
    text
}
