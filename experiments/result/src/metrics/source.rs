//! Where a sample holds a metric.

use serde::Deserialize;
use serde_json::Value;

use crate::sample::Sample;
use steer_measure::Network;
use steer_traffic::client::ClientReport;

/// The format of the observer's output that is understood.
const OBSERVE_VERSION: u64 = 1;

/// Where a sample holds a metric.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
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

impl Source {
    /// Whether the sample has the part that it is taken from, so that a missing value is
    /// worth a warning.
    pub(super) fn is_in(&self, sample: &Sample) -> bool {
        match *self {
            Source::CpusUsed | Source::PayloadPerCpu => sample.cpu.is_some(),
            Source::Network(_) => sample.cpu.as_ref().is_some_and(|cpu| cpu.network.is_some()),
            Source::ClientLater(path) => sample.client.pointer(path).is_some(),
            Source::HogRate => sample.hog_rate.is_some(),
            Source::ObserveLater { part, .. } => sample.observe.get(part).is_some(),
            Source::Observe(_) | Source::ObserveSum(_) | Source::Client(_) => true,
        }
    }

    /// The sample's value in its stored unit; `None` when it was not measured.
    pub(super) fn value(&self, sample: &Sample) -> Option<f64> {
        let number = |part: &Value, path| part.pointer(path).and_then(Value::as_f64);
        match *self {
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
