//! What the page calls a metric, and the unit it shows.

use steer_result::metrics::{self, Metric};

/// Metric, its name on the page, stored units per shown unit, decimals.
const WORDS: [(&str, &str, f64, usize); 21] = [
    ("local_share", "long-flow bytes copied near the NIC, share", 1.0, 3),
    ("home_share", "long-flow bytes copied on the CPU whose softirq handled them, share", 1.0, 3),
    ("mixed_share", "long-flow CPU time on CPUs that serve RPCs too, share", 1.0, 3),
    (
        "mixed_share_with_softirq",
        "long-flow CPU time, softirq counted in, on CPUs that serve RPCs too, share",
        1.0,
        3,
    ),
    ("throughput_per_core", "long-flow MB per CPU-second", 1e6, 1),
    ("rpcs_per_cpu_second", "RPCs per CPU-second", 1.0, 0),
    ("cpus_used", "CPUs in use", 1.0, 2),
    ("long_bytes_per_s", "long flows, MB/s", 1e6, 1),
    ("long_fairness", "how evenly long flows share (Jain's index, 1: equally)", 1.0, 3),
    ("rpc_rate", "RPCs per second", 1.0, 0),
    ("rpc_p50", "RPC latency, median, ms", 1e3, 1),
    ("rpc_p99", "RPC latency, 99th percentile, ms", 1e3, 1),
    ("hog_rate", "work of threads without traffic, spins per second", 1.0, 0),
    ("napi_to_copy_p50", "wait from NAPI to the copy, median, ms", 1e3, 2),
    ("napi_to_copy_p99", "wait from NAPI to the copy, 99th percentile, ms", 1e3, 1),
    ("migrations_long", "moves of long-flow threads per second", 1.0, 2),
    ("migrations_short", "moves of RPC threads per second", 1.0, 1),
    ("switches", "context switches per second", 1.0, 0),
    ("interrupts", "interrupts per second", 1.0, 0),
    ("net_rx_softirqs", "NET_RX softirqs per second", 1.0, 0),
    ("pure_acks", "segments that only acknowledge, per second", 1.0, 0),
];

/// The name of a metric on the page.
pub(super) fn name(metric: &Metric) -> String {
    let own = WORDS.iter().find(|(name, ..)| *name == metric.name);
    own.map_or_else(
        || format!("{}, {}", metric.about, metric.unit),
        |(_, words, ..)| (*words).to_owned(),
    )
}

/// A stored value as the page shows it.
pub(super) fn value(metric: &Metric, value: f64) -> String {
    let own = WORDS.iter().find(|(name, ..)| *name == metric.name);
    own.map_or_else(
        || metric.show(value),
        |(_, _, scale, decimals)| {
            // the priced tier's milliseconds are fractions
            let few = *scale > 1.0 && (value / scale).abs() < 1.0;
            number(value / scale, if few { 3 } else { *decimals })
        },
    )
}

/// A number, with a mark between thousands.
pub(super) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.trim_start_matches('-');
    let mut marked = whole[..whole.len() - digits.len()].to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            marked.push(',');
        }
        marked.push(digit);
    }
    marked + rest
}

/// The metric of that name.
pub(super) fn find(name: &str) -> Option<&'static Metric> {
    metrics::find(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_of_a_metric() {
        assert!(WORDS.iter().all(|(name, ..)| find(name).is_some()));
    }

    #[test]
    fn thousands_are_marked() {
        for (value, decimals, text) in [
            (0.5, 3, "0.500"),
            (999.4, 0, "999"),
            (1234.5, 1, "1,234.5"),
            (-1_234_567.0, 0, "-1,234,567"),
        ] {
            assert_eq!(number(value, decimals), text);
        }
    }
}
