//! What the measured machine's CPUs did during one sample: the part of `steer-bench cpu --json`
//! that a result keeps.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::older_warnings;
use steer_ground::warning::Warning;
use steer_measure::{Breakdown, Count, CpuReport, Network, Usage};

/// What the measured machine's CPUs did. Names of seconds end in `_s`, shares go from 0 to 1,
/// unknown values are null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuRecord {
    /// Measured seconds.
    pub duration_s: f64,
    /// The measured CPUs, as a list like `0-3`.
    pub cpus: String,
    /// CPU time in seconds, from the kernel's accounting (/proc/stat).
    pub usage: Usage,
    /// Events counted on all measured CPUs together, by event.
    pub counters: IndexMap<String, Counter>,
    /// Shares of the busy time by category of the host-network-stack paper, from samples of the
    /// stacks; null without a sample of busy time.
    pub breakdown: Option<Breakdown>,
    /// Interrupts and ACKs; absent if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Warnings: why a figure of this record may be wrong, and what to do.
    #[serde(deserialize_with = "older_warnings::warnings")]
    #[schemars(with = "Vec<older_warnings::Written>")]
    pub warnings: Vec<Warning>,
}

/// What one event counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counter {
    /// Value and multiplex ratio.
    #[serde(flatten)]
    pub count: Count,
    /// Why the machine cannot count this event; null if it can.
    pub unavailable: Option<String>,
}

impl From<CpuReport> for CpuRecord {
    fn from(report: CpuReport) -> Self {
        let CpuReport { duration_s, cpus, usage, counters, breakdown, network, warnings, .. } =
            report;
        let counter = |(event, count): (String, Count)| {
            let unavailable = counters.unavailable.get(&event).cloned();
            (event, Counter { count, unavailable })
        };
        let counters = counters.machine.total.into_iter().map(counter).collect();
        Self { duration_s, cpus, usage, counters, breakdown, network, warnings }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> CpuReport {
        let time = json!({
            "user_s": 1.0, "system_s": 1.5, "softirq_s": 1.0, "irq_s": 0.5, "steal_s": 0.0,
            "iowait_s": 0.0, "idle_s": 4.0
        });
        let total = json!({
            "cycles": {"value": null, "running_share": null},
            "migrations": {"value": 7, "running_share": 0.5}
        });
        serde_json::from_value(json!({
            "version": 1, "duration_s": 4.0, "kernel": "6.18", "cpus": "1",
            "usage": {"cpus_used": 1.0, "total": time, "by_cpu": {"1": time}},
            "counters": {
                "machine": {"total": total, "by_cpu": {"1": total}}, "cgroup": null,
                "unavailable": {"cycles": "no such counter"}
            },
            "breakdown": null, "warnings": [{"kind": "few_samples", "text": "80 % rough"}]
        }))
        .unwrap()
    }

    #[test]
    fn an_unknown_count_keeps_its_reason() {
        let record = CpuRecord::from(report());
        let text = serde_json::to_value(&record).unwrap();
        let expected =
            json!({"value": null, "running_share": null, "unavailable": "no such counter"});
        assert_eq!(text["counters"]["cycles"], expected);
        let expected = json!({"value": 7, "running_share": 0.5, "unavailable": null});
        assert_eq!(text["counters"]["migrations"], expected);
        assert_eq!(serde_json::from_value::<CpuRecord>(text).unwrap(), record);
    }
}
