//! What each CPU did in each step of an observation.

use std::time::Duration;

use serde::Serialize;
use steer_bpf::intf::{
    observed_cpu, traffic_class_CLASS_LONG, traffic_class_CLASS_NONE, traffic_class_CLASS_SHORT,
};
use steer_topology::CpuSet;

/// Shares of each step, per CPU.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Timeline {
    interval_s: f64,
    cpus: Vec<CpuTimeline>,
    #[serde(skip)]
    before: Vec<observed_cpu>,
}

/// One CPU: its share of each step by class, 0 to 1. The rest is idle time.
#[derive(Clone, Debug, Serialize)]
struct CpuTimeline {
    cpu: u32,
    long: Vec<f64>,
    short: Vec<f64>,
    other: Vec<f64>,
    softirq: Vec<f64>,
}

impl Timeline {
    /// An empty timeline of the `online` CPUs that starts with the reading `before`.
    pub(crate) fn new(interval: Duration, online: &CpuSet, before: &[observed_cpu]) -> Self {
        let cpus = online
            .iter()
            .map(|cpu| CpuTimeline {
                cpu,
                long: Vec::new(),
                short: Vec::new(),
                other: Vec::new(),
                softirq: Vec::new(),
            })
            .collect();
        Self { interval_s: interval.as_secs_f64(), cpus, before: before.to_vec() }
    }

    /// Adds the interval that ends with the reading `now`.
    pub(crate) fn add(&mut self, now: &[observed_cpu]) {
        for line in &mut self.cpus {
            let index = line.cpu as usize;
            let (Some(before), Some(now)) = (self.before.get(index), now.get(index)) else {
                continue;
            };
            let share = |before: u64, now: u64| {
                let ns = now.saturating_sub(before) as f64;
                // a plot can show three digits
                (ns / self.interval_s / 1e6).round().min(1000.0) / 1000.0
            };
            let run = |class: u32| share(before.run_ns[class as usize], now.run_ns[class as usize]);
            line.long.push(run(traffic_class_CLASS_LONG));
            line.short.push(run(traffic_class_CLASS_SHORT));
            line.other.push(run(traffic_class_CLASS_NONE));
            line.softirq
                .push(share(before.softirq_ns + before.irq_ns, now.softirq_ns + now.irq_ns));
        }
        self.before = now.to_vec();
    }
}
