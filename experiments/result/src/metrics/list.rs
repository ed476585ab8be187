//! All metrics.

use super::metric::{Better, Metric};
use super::source::Source;

/// All metrics, in the order to show them.
pub const METRICS: &[Metric] = {
    use Better::{Higher, Lower};
    use Source::{
        Client, ClientLater, CpusUsed, HogRate, Network, Observe, ObserveLater, ObserveSum,
        PayloadPerCpu,
    };
    const fn metric(
        name: &'static str,
        about: &'static str,
        (stored_unit, unit, scale): (&'static str, &'static str, f64),
        better: Better,
        source: Source,
    ) -> Metric {
        Metric { name, about, stored_unit, unit, scale, better, source }
    }
    const SHARE: (&str, &str, f64) = ("", "", 1.0);
    const PER_S: (&str, &str, f64) = ("/s", "/s", 1.0);
    const MICROSECONDS: (&str, &str, f64) = ("µs", "µs", 1.0);
    &[
        metric(
            "local_share",
            "long-flow bytes copied on a NIC-local CPU",
            SHARE,
            Higher,
            Observe("/local_share"),
        ),
        metric(
            "home_share",
            "long-flow bytes copied on the CPU whose softirq processed them",
            SHARE,
            Higher,
            Observe("/home_share"),
        ),
        metric(
            "llc_share",
            "long-flow bytes copied in the last-level cache whose softirq processed them",
            SHARE,
            Higher,
            Observe("/llc_share"),
        ),
        metric(
            "mixed_share",
            "long-flow CPU time on CPUs that serve RPCs as well",
            SHARE,
            Lower,
            Observe("/mixed_share"),
        ),
        metric(
            "throughput_per_core",
            "long-flow payload per CPU-second of its threads and softirq",
            ("B/cpu-s", "MB/cpu-s", 1e6),
            Higher,
            Observe("/throughput_per_core"),
        ),
        metric(
            "rpcs_per_cpu_second",
            "RPCs per CPU-second of their threads and softirq",
            ("/cpu-s", "/cpu-s", 1.0),
            Higher,
            Observe("/rpcs_per_cpu_second"),
        ),
        // The paper's own throughput per core; `throughput_per_core` is that of the long flows alone.
        metric(
            "throughput_per_cpu",
            "payload of long flows and RPCs, both ways, per CPU in use by anything",
            ("B/cpu-s", "MB/cpu-s", 1e6),
            Higher,
            PayloadPerCpu,
        ),
        metric(
            "cpus_used",
            "CPUs of the measured host in use by anything (user, system, softirq, irq)",
            ("CPUs", "CPUs", 1.0),
            Lower,
            CpusUsed,
        ),
        metric(
            "long_bytes_per_s",
            "long-flow payload delivered",
            ("B/s", "MB/s", 1e6),
            Higher,
            Client("/long/bytes_per_s"),
        ),
        metric(
            "long_fairness",
            "how evenly the long flows shared that: Jain's index, 1 for all alike",
            SHARE,
            Higher,
            ClientLater("/long/fairness"),
        ),
        metric("rpc_rate", "RPCs answered", PER_S, Higher, Client("/rpc/rate")),
        metric("rpc_p50", "median RPC latency", MICROSECONDS, Lower, Client("/rpc/p50_us")),
        metric("rpc_p99", "99th percentile", MICROSECONDS, Lower, Client("/rpc/p99_us")),
        metric("rpc_p999", "99.9th percentile", MICROSECONDS, Lower, Client("/rpc/p999_us")),
        metric(
            "rpc_rtt",
            "mean smoothed round-trip time of RPC connections, by the client's TCP",
            MICROSECONDS,
            Lower,
            ClientLater("/rpc/rtt_us"),
        ),
        metric("hog_rate", "work of the hogs, in spins", PER_S, Higher, HogRate),
        metric(
            "napi_to_copy_p50",
            "median wait of long-flow payload, from NAPI to the start of its copy",
            MICROSECONDS,
            Lower,
            ObserveLater { part: "napi_to_copy", number: "p50_us" },
        ),
        metric(
            "napi_to_copy_p99",
            "99th percentile of that wait",
            MICROSECONDS,
            Lower,
            ObserveLater { part: "napi_to_copy", number: "p99_us" },
        ),
        metric(
            "skb_size",
            "mean payload of the packets that TCP is handed for long flows, after GRO",
            ("B", "B", 1.0),
            Higher,
            ObserveLater { part: "skb_size", number: "mean_bytes" },
        ),
        metric(
            "interrupts",
            "interrupts of any kind",
            PER_S,
            Lower,
            Network(|network| network.interrupts_per_s),
        ),
        metric(
            "net_rx_softirqs",
            "runs of the softirq that receives packets",
            PER_S,
            Lower,
            Network(|network| network.net_rx_per_s),
        ),
        metric(
            "pure_acks",
            "segments received that only acknowledge",
            PER_S,
            Lower,
            Network(|network| network.pure_acks_per_s),
        ),
        metric(
            "migrations",
            "moves of any thread to another CPU",
            PER_S,
            Lower,
            ObserveSum([
                "/long/migrations_per_s",
                "/short/migrations_per_s",
                "/none/migrations_per_s",
            ]),
        ),
        metric(
            "migrations_long",
            "moves of long-flow threads",
            PER_S,
            Lower,
            Observe("/long/migrations_per_s"),
        ),
        metric(
            "migrations_short",
            "moves of RPC threads",
            PER_S,
            Lower,
            Observe("/short/migrations_per_s"),
        ),
        metric(
            "switches",
            "context switches to any thread",
            PER_S,
            Lower,
            ObserveSum(["/long/switches_per_s", "/short/switches_per_s", "/none/switches_per_s"]),
        ),
        metric(
            "switches_long",
            "context switches to long-flow threads",
            PER_S,
            Lower,
            Observe("/long/switches_per_s"),
        ),
        metric(
            "switches_short",
            "context switches to RPC threads",
            PER_S,
            Lower,
            Observe("/short/switches_per_s"),
        ),
    ]
};

/// The metric of that name.
pub fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}
