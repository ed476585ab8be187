//! All metrics.

use super::metric::{Better, Metric};
use super::source::Source;

/// All metrics, in the order to show them.
pub const METRICS: &[Metric] = {
    use Better::{Higher, Lower};
    use Source::{
        Client, ClientLater, CpusUsed, HogRate, Network, Observe, ObserveLater, PayloadPerCpu,
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
            Observe(|report| report.local_share),
        ),
        metric(
            "home_share",
            "long-flow bytes copied on the CPU whose softirq processed them",
            SHARE,
            Higher,
            Observe(|report| report.home_share),
        ),
        metric(
            "llc_share",
            "long-flow bytes copied in the last-level cache whose softirq processed them",
            SHARE,
            Higher,
            Observe(|report| report.llc_share),
        ),
        metric(
            "mixed_share",
            "long-flow CPU time on CPUs that serve RPCs as well",
            SHARE,
            Lower,
            Observe(|report| report.mixed_share),
        ),
        metric(
            "mixed_share_with_softirq",
            "long-flow CPU time, softirq counted in, on CPUs that serve RPCs as well",
            SHARE,
            Lower,
            ObserveLater(|report| report.mixed_share_with_softirq),
        ),
        metric(
            "throughput_per_core",
            "long-flow payload per CPU-second of its threads and softirq",
            ("B/cpu-s", "MB/cpu-s", 1e6),
            Higher,
            Observe(|report| report.throughput_per_core),
        ),
        metric(
            "rpcs_per_cpu_second",
            "RPCs per CPU-second of their threads and softirq",
            ("/cpu-s", "/cpu-s", 1.0),
            Higher,
            Observe(|report| report.rpcs_per_cpu_second),
        ),
        // The paper's throughput per core. `throughput_per_core` covers long flows only.
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
            Client(|report| Some(report.long.as_ref()?.bytes_per_s)),
        ),
        metric(
            "long_fairness",
            "how evenly the long flows shared that: Jain's index, 1 for all alike",
            SHARE,
            Higher,
            ClientLater(|report| report.long.as_ref()?.fairness),
        ),
        metric(
            "rpc_rate",
            "RPCs answered",
            PER_S,
            Higher,
            Client(|report| Some(report.rpc.as_ref()?.rate)),
        ),
        metric(
            "rpc_p50",
            "median RPC latency",
            MICROSECONDS,
            Lower,
            Client(|report| report.rpc.as_ref()?.p50_us),
        ),
        metric(
            "rpc_p99",
            "99th percentile",
            MICROSECONDS,
            Lower,
            Client(|report| report.rpc.as_ref()?.p99_us),
        ),
        metric(
            "rpc_p999",
            "99.9th percentile",
            MICROSECONDS,
            Lower,
            Client(|report| report.rpc.as_ref()?.p999_us),
        ),
        metric(
            "rpc_rtt",
            "mean smoothed round-trip time of RPC connections, by the client's TCP",
            MICROSECONDS,
            Lower,
            ClientLater(|report| report.rpc.as_ref()?.rtt_us),
        ),
        metric("hog_rate", "work of the hogs, in spins", PER_S, Higher, HogRate),
        metric(
            "napi_to_copy_p50",
            "median wait of long-flow payload, from NAPI to the start of its copy",
            MICROSECONDS,
            Lower,
            ObserveLater(|report| {
                Some(report.napi_to_copy.as_ref()?.as_ref().and_then(|part| part.p50_us))
            }),
        ),
        metric(
            "napi_to_copy_p99",
            "99th percentile of that wait",
            MICROSECONDS,
            Lower,
            ObserveLater(|report| {
                Some(report.napi_to_copy.as_ref()?.as_ref().and_then(|part| part.p99_us))
            }),
        ),
        metric(
            "skb_size",
            "mean payload of the packets that TCP is handed for long flows, after GRO",
            ("B", "B", 1.0),
            Higher,
            ObserveLater(|report| {
                Some(report.skb_size.as_ref()?.as_ref().and_then(|part| part.mean_bytes))
            }),
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
            Observe(|report| {
                let [long, short, none] = report.classes().map(|class| class.migrations_per_s);
                Some(long? + short? + none?)
            }),
        ),
        metric(
            "migrations_long",
            "moves of long-flow threads",
            PER_S,
            Lower,
            Observe(|report| report.long.migrations_per_s),
        ),
        metric(
            "migrations_short",
            "moves of RPC threads",
            PER_S,
            Lower,
            Observe(|report| report.short.migrations_per_s),
        ),
        metric(
            "switches",
            "context switches to any thread",
            PER_S,
            Lower,
            Observe(|report| {
                let [long, short, none] = report.classes().map(|class| class.switches_per_s);
                Some(long? + short? + none?)
            }),
        ),
        metric(
            "switches_long",
            "context switches to long-flow threads",
            PER_S,
            Lower,
            Observe(|report| report.long.switches_per_s),
        ),
        metric(
            "switches_short",
            "context switches to RPC threads",
            PER_S,
            Lower,
            Observe(|report| report.short.switches_per_s),
        ),
    ]
};

/// The metric of that name.
pub fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}
