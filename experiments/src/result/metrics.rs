//! The metrics of a result: their names, where a sample holds them, and how to show them.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::types::Sample;
use crate::cpu::Network;
use crate::stats::Ratio;
use crate::traffic::client::ClientReport;

/// The format of the observer's output that is understood.
const OBSERVE_VERSION: u64 = 1;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// What a ratio may be said to show, once its interval excludes 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Claim {
    /// The subject does better.
    Better,
    /// The subject does worse.
    Worse,
}

impl Claim {
    /// The mark beside a ratio in a table.
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Better => '+',
            Self::Worse => '-',
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Better => "better",
            Self::Worse => "worse",
        })
    }
}

/// Where a sample holds a metric.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A number the observer printed.
    Observe(&'static str),
    /// The same, in a part of its report that older ones lack.
    ObserveLater { part: &'static str, number: &'static str },
    /// The sum of numbers the observer printed, absent when one of them is.
    ObserveSum([&'static str; 3]),
    /// A number the client printed.
    Client(&'static str),
    /// The same, which older clients, and other programs in its place, do not print.
    ClientLater(&'static str),
    /// What the kernel of the measured machine counted.
    Network(fn(&Network) -> f64),
    /// The CPUs in use.
    CpusUsed,
    /// The payload that the client moved, both ways, per CPU in use.
    PayloadPerCpu,
    /// What the hogs did.
    HogRate,
}

/// One metric.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metric {
    /// Name, as in `result.json`.
    pub(crate) name: &'static str,
    /// What it says, in a few words.
    pub(crate) about: &'static str,
    /// Unit it is stored in; empty for shares.
    pub(crate) stored_unit: &'static str,
    /// Unit it is shown in.
    pub(crate) unit: &'static str,
    /// Stored value of one shown unit.
    scale: f64,
    /// Which way is better.
    pub(crate) better: Better,
    source: Source,
}

/// All metrics, in the order to show them.
pub(crate) const METRICS: &[Metric] = {
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
pub(crate) fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// Why a sample cannot be read, if it cannot: its parts are of formats unknown here.
pub(crate) fn unreadable(sample: &Sample) -> Option<String> {
    let version = |part: &Value| part.get("version").and_then(Value::as_u64);
    let parts = [
        ("observe", version(&sample.observe), OBSERVE_VERSION),
        ("client", version(&sample.client), u64::from(ClientReport::VERSION)),
    ];
    parts.into_iter().find_map(|(part, found, known)| {
        let found = found.map_or("no version".into(), |found| format!("version {found}"));
        (found != format!("version {known}"))
            .then(|| format!("{part} has {found}, {known} is understood"))
    })
}

/// Payload that the client moved per second: of its long flows, and of RPCs the requests and the
/// replies (host-network-stack paper, section 2.2: total throughput). `None` when a part of it could
/// not be measured.
fn payload_per_s(client: &Value) -> Option<f64> {
    let report = ClientReport::deserialize(client).ok()?;
    // A part that is absent was not asked for, unless something went wrong.
    let all = report.errors.is_empty() && (report.long.is_some() || report.rpc.is_some());
    let long = report.long.map_or(0.0, |long| long.bytes_per_s);
    let rpc = report.rpc.map_or(0.0, |rpc| rpc.rate * rpc.payload() as f64);
    all.then_some(long + rpc)
}

impl Metric {
    /// Whether the sample has the part that the metric is taken from, so that a missing value is
    /// worth a warning.
    pub(super) fn is_recorded(&self, sample: &Sample) -> bool {
        match self.source {
            Source::CpusUsed | Source::PayloadPerCpu => sample.cpu.is_some(),
            Source::Network(_) => sample.cpu.as_ref().is_some_and(|cpu| cpu.network.is_some()),
            Source::ClientLater(path) => sample.client.pointer(path).is_some(),
            Source::HogRate => sample.hog_rate.is_some(),
            Source::ObserveLater { part, .. } => sample.observe.get(part).is_some(),
            Source::Observe(_) | Source::ObserveSum(_) | Source::Client(_) => true,
        }
    }

    /// The sample's value of this metric in its stored unit; `None` when it was not measured.
    pub(crate) fn value(&self, sample: &Sample) -> Option<f64> {
        let number = |part: &Value, path| part.pointer(path).and_then(Value::as_f64);
        match self.source {
            Source::Observe(path) => number(&sample.observe, path),
            Source::ObserveLater { part, number } => {
                sample.observe.get(part)?.get(number).and_then(Value::as_f64)
            }
            Source::ObserveSum(paths) => {
                paths.into_iter().map(|path| number(&sample.observe, path)).sum()
            }
            Source::Client(path) | Source::ClientLater(path) => number(&sample.client, path),
            Source::Network(of) => sample.cpu.as_ref()?.network.as_ref().map(of),
            Source::HogRate => sample.hog_rate,
            Source::CpusUsed => sample.cpu.as_ref().map(|cpu| cpu.usage.cpus_used),
            Source::PayloadPerCpu => {
                let cpus = sample.cpu.as_ref()?.usage.cpus_used;
                (cpus > 0.0).then_some(payload_per_s(&sample.client)? / cpus)
            }
        }
    }

    /// What the ratio of this metric shows; nothing while its interval holds 1.
    pub(crate) fn claim(&self, ratio: Ratio) -> Option<Claim> {
        let better = (ratio.median > 1.0) == (self.better == Better::Higher);
        ratio.excludes_one().then_some(if better { Claim::Better } else { Claim::Worse })
    }

    /// A stored value in the unit that is shown.
    pub(crate) fn in_unit(&self, value: f64) -> f64 {
        value / self.scale
    }

    /// A stored value as shown, without the unit.
    pub(crate) fn show(&self, value: f64) -> String {
        let shown = self.in_unit(value);
        let decimals = match () {
            () if self.unit.is_empty() => 3,
            () if shown >= 100.0 => 0,
            () => 2,
        };
        format!("{shown:.decimals$}")
    }
}
