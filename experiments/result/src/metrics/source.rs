//! Where a sample holds a metric.

use crate::observer::ObserverReport;
use crate::sample::Sample;
use steer_measure::Network;
use steer_traffic::client::ClientReport;

/// Where a sample holds a metric.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// A number the observer printed.
    Observe(fn(&ObserverReport) -> Option<f64>),
    /// The same, in a part that older reports lack: `None` for these.
    ObserveLater(fn(&ObserverReport) -> Option<Option<f64>>),
    /// A number the client printed.
    Client(fn(&ClientReport) -> Option<f64>),
    /// The same, but older clients and other load tools do not print it.
    ClientLater(fn(&ClientReport) -> Option<f64>),
    /// What the kernel of the measured machine counted.
    Network(fn(&Network) -> f64),
    /// The CPUs in use.
    CpusUsed,
    /// The client's payload in both directions, per CPU in use.
    PayloadPerCpu,
    /// The work of the hogs.
    HogRate,
}

impl Source {
    /// Whether the sample has the part with the metric. If it has, a missing value deserves a
    /// warning.
    pub(super) fn is_in(&self, sample: &Sample) -> bool {
        match *self {
            Source::CpusUsed | Source::PayloadPerCpu => sample.cpu.is_some(),
            Source::Network(_) => sample.cpu.as_ref().is_some_and(|cpu| cpu.network.is_some()),
            Source::ClientLater(of) => of(&sample.client).is_some(),
            Source::HogRate => sample.hog_rate.is_some(),
            Source::ObserveLater(of) => of(&sample.observe).is_some(),
            Source::Observe(_) | Source::Client(_) => true,
        }
    }

    /// The sample's value in its stored unit; `None` if it was not measured.
    pub(super) fn value(&self, sample: &Sample) -> Option<f64> {
        match *self {
            Source::Observe(of) => of(&sample.observe),
            Source::ObserveLater(of) => of(&sample.observe)?,
            Source::Client(of) | Source::ClientLater(of) => of(&sample.client),
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

/// The client's payload per second: long flows, requests and replies (host-network-stack paper,
/// section 2.2: total throughput). `None` if a part of it was not measured.
fn payload_per_s(report: &ClientReport) -> Option<f64> {
    // Without errors, an absent part means that there was no such traffic.
    let all = report.errors.is_empty() && (report.long.is_some() || report.rpc.is_some());
    let long = report.long.as_ref().map_or(0.0, |long| long.bytes_per_s);
    let rpc = report.rpc.as_ref().map_or(0.0, |rpc| rpc.rate * rpc.payload() as f64);
    all.then_some(long + rpc)
}

/// Why a sample cannot be read: a part has a format unknown here. `None` if it can.
pub(crate) fn unreadable(sample: &Sample) -> Option<String> {
    let parts = [
        ("observe", sample.observe.version, ObserverReport::VERSION),
        ("client", sample.client.version, ClientReport::VERSION),
    ];
    parts
        .into_iter()
        .find(|(_, found, known)| found != known)
        .map(|(part, found, known)| format!("{part} has version {found}, {known} is understood"))
}
