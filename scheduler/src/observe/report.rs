//! Turns the observer's counters into the metrics of ARCHITECTURE.md, as JSON and as text.

use std::{fmt, fs, time::Duration};

use serde::Serialize;
use steer_bpf::intf::{
    observed_cpu, shared_time, traffic_class, traffic_class_CLASS_LONG as LONG,
    traffic_class_CLASS_NONE as NONE, traffic_class_CLASS_SHORT as SHORT,
};
use steer_policy::Plan;
use steer_topology::CpuSet;

use crate::observe::{
    histogram::{NapiToCopy, SkbSize},
    timeline::Timeline,
};

/// Version of the JSON form.
const VERSION: u32 = 1;

/// What `scx_steer observe --json` prints. Shares are 0 to 1. A share is absent if its denominator
/// is zero.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    version: u32,
    kernel: String,
    /// The sched_ext scheduler in force, or "default".
    scheduler: String,
    duration_s: f64,
    /// The observed cgroup; absent if all threads were observed.
    cgroup: Option<String>,
    nics: Vec<ReportedNic>,
    long: LongClass,
    short: ShortClass,
    none: Class,
    softirq_s: f64,
    irq_s: f64,
    local_share: Option<f64>,
    home_share: Option<f64>,
    llc_share: Option<f64>,
    mixed_share: Option<f64>,
    mixed_share_with_softirq: Option<f64>,
    /// Long-flow payload bytes per CPU-second of long-flow threads and the softirq for them.
    throughput_per_core: Option<f64>,
    /// Requests served per CPU-second of short-flow threads and the softirq for them.
    rpcs_per_cpu_second: Option<f64>,
    napi_to_copy: Option<NapiToCopy>,
    skb_size: Option<SkbSize>,
    timeline: Timeline,
}

#[derive(Debug, Serialize)]
struct ReportedNic {
    name: String,
    node: Option<u32>,
    local_cpus: CpuSet,
}

/// What every class has. A mixed thread counts under the class that costs it more CPU.
#[derive(Debug, Serialize)]
struct Class {
    /// CPU-seconds of its threads, without the softirq and irq time that interrupted them.
    cpu_s: f64,
    /// Softirq and irq seconds that served its flows: [`softirq_for`].
    softirq_s: f64,
    switches_per_s: f64,
    migrations_per_s: f64,
}

#[derive(Debug, Serialize)]
struct LongClass {
    bytes_received: u64,
    bytes_sent: u64,
    #[serde(flatten)]
    class: Class,
}

#[derive(Debug, Serialize)]
struct ShortClass {
    bytes_received: u64,
    bytes_sent: u64,
    /// Requests served: how often a short flow turned from receiving to sending.
    messages: u64,
    #[serde(flatten)]
    class: Class,
}

impl Report {
    /// The metrics of the time between two readings.
    pub(crate) fn new(
        plan: &Plan,
        cgroup: Option<String>,
        elapsed: Duration,
        before: &[observed_cpu],
        after: &[observed_cpu],
        timeline: Timeline,
    ) -> Self {
        let sum = |counter: &dyn Fn(&observed_cpu) -> u64| -> u64 {
            let total = |cpus: &[observed_cpu]| cpus.iter().map(counter).sum::<u64>();
            total(after).saturating_sub(total(before))
        };
        let of = |counters: fn(&observed_cpu) -> &[u64; 4], class: traffic_class| {
            sum(&|cpu| counters(cpu)[class as usize])
        };
        let histogram = |counters: fn(&observed_cpu) -> &[u64]| -> Vec<u64> {
            let buckets = after.first().map_or(0, |cpu| counters(cpu).len());
            (0..buckets).map(|bucket| sum(&|cpu| counters(cpu)[bucket])).collect()
        };
        let seconds = elapsed.as_secs_f64();
        let softirq_s = sum(&|cpu| cpu.softirq_ns) as f64 / 1e9;
        let irq_s = sum(&|cpu| cpu.irq_ns) as f64 / 1e9;
        let class = |class| Class {
            softirq_s: softirq_for(class, before, after),
            cpu_s: of(|cpu| &cpu.run_ns, class) as f64 / 1e9,
            switches_per_s: of(|cpu| &cpu.switches, class) as f64 / seconds,
            migrations_per_s: of(|cpu| &cpu.migrations, class) as f64 / seconds,
        };
        let long = LongClass {
            bytes_received: of(|cpu| &cpu.received_bytes, LONG),
            bytes_sent: of(|cpu| &cpu.sent_bytes, LONG),
            class: class(LONG),
        };
        let short = ShortClass {
            bytes_received: of(|cpu| &cpu.received_bytes, SHORT),
            bytes_sent: of(|cpu| &cpu.sent_bytes, SHORT),
            messages: sum(&|cpu| cpu.messages),
            class: class(SHORT),
        };
        let mixed = |windows: fn(&observed_cpu) -> &shared_time| {
            share(sum(&|cpu| windows(cpu).mixed_ns), sum(&|cpu| windows(cpu).long_ns))
        };
        let placed = sum(&|cpu| cpu.placed_bytes);
        let per_cpu_second = |amount: u64, class: &Class| {
            (amount > 0).then(|| amount as f64 / (class.cpu_s + class.softirq_s))
        };
        Self {
            version: VERSION,
            kernel: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
            scheduler: read("/sys/kernel/sched_ext/root/ops").unwrap_or_else(|| "default".into()),
            duration_s: seconds,
            cgroup,
            nics: plan
                .nics
                .iter()
                .map(|nic| ReportedNic {
                    name: nic.name.clone(),
                    node: nic.node,
                    local_cpus: nic.local_cpus.clone(),
                })
                .collect(),
            local_share: share(sum(&|cpu| cpu.local_bytes), placed),
            home_share: share(sum(&|cpu| cpu.home_bytes), placed),
            llc_share: share(sum(&|cpu| cpu.llc_bytes), placed),
            mixed_share: mixed(|cpu| &cpu.thread_windows),
            mixed_share_with_softirq: mixed(|cpu| &cpu.all_windows),
            throughput_per_core: per_cpu_second(long.bytes_received + long.bytes_sent, &long.class),
            rpcs_per_cpu_second: per_cpu_second(short.messages, &short.class),
            napi_to_copy: NapiToCopy::new(&histogram(|cpu| &cpu.waits)),
            skb_size: SkbSize::new(&histogram(|cpu| &cpu.skbs), sum(&|cpu| cpu.skb_bytes)),
            long,
            short,
            none: class(NONE),
            softirq_s,
            irq_s,
            timeline,
        }
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_string())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: Option<f64>| match share {
            Some(share) => format!("{:.1} %", share * 100.0),
            None => "nothing seen".into(),
        };
        let rate = |value: Option<f64>, unit: &str, scale: f64| match value {
            Some(value) => format!("{:.2} {unit}", value / scale),
            None => "nothing seen".into(),
        };
        writeln!(f, "{:.1} s under {} on {}", self.duration_s, self.scheduler, self.kernel)?;
        if let Some(cgroup) = &self.cgroup {
            writeln!(
                f,
                "only the traffic of cgroup {cgroup}; other threads count as threads without traffic"
            )?;
        }
        for nic in &self.nics {
            writeln!(f, "NIC {}: NIC-local CPUs {}", nic.name, nic.local_cpus)?;
        }
        if self.nics.is_empty() {
            writeln!(f, "no NIC with a known place: placement shares need one")?;
        }
        let (long, short) = (&self.long, &self.short);
        let (waited, sizes) = (self.napi_to_copy.as_ref(), self.skb_size.as_ref());
        for (name, value) in [
            ("long-flow bytes copied near the NIC", percent(self.local_share)),
            ("  ... on the home CPU", percent(self.home_share)),
            ("  ... under the home CPU's cache", percent(self.llc_share)),
            ("long-flow CPU time mixed with RPCs", percent(self.mixed_share)),
            ("  ... softirq counted in", percent(self.mixed_share_with_softirq)),
            ("throughput per core, long flows", rate(self.throughput_per_core, "MB/CPU-s", 1e6)),
            ("RPCs per CPU-second, short flows", rate(self.rpcs_per_cpu_second, "/CPU-s", 1.0)),
            ("from NAPI to copy, median", rate(waited.map(|it| it.p50_us), "µs", 1.0)),
            ("  ... 99th percentile", rate(waited.map(|it| it.p99_us), "µs", 1.0)),
            ("packet after GRO, mean", rate(sizes.map(|it| it.mean_bytes), "bytes", 1.0)),
        ] {
            writeln!(f, "{name:<38} {value:>18}")?;
        }
        writeln!(
            f,
            "{:<8} {:>10} {:>10} {:>12} {:>12} {:>12} {:>14}",
            "class", "CPU s", "softirq s", "received MB", "sent MB", "switches/s", "migrations/s"
        )?;
        for (name, class, bytes) in [
            ("long", &long.class, Some((long.bytes_received, long.bytes_sent))),
            ("short", &short.class, Some((short.bytes_received, short.bytes_sent))),
            ("none", &self.none, None),
        ] {
            let megabytes = |bytes: Option<u64>| {
                bytes.map_or("-".into(), |bytes| format!("{:.2}", bytes as f64 / 1e6))
            };
            writeln!(
                f,
                "{name:<8} {:>10.2} {:>10.2} {:>12} {:>12} {:>12.1} {:>14.1}",
                class.cpu_s,
                class.softirq_s,
                megabytes(bytes.map(|b| b.0)),
                megabytes(bytes.map(|b| b.1)),
                class.switches_per_s,
                class.migrations_per_s
            )?;
        }
        writeln!(f, "total    {:>21.2} softirq, {:.2} irq", self.softirq_s, self.irq_s)
    }
}

/// Seconds of softirq, and of the interrupts that raised it, for flows of this class. What no segment
/// of a flow accounts for is divided as the rest of its CPU's; on a CPU without any segment, as that
/// of all CPUs.
fn softirq_for(class: traffic_class, before: &[observed_cpu], after: &[observed_cpu]) -> f64 {
    // on one CPU: all, for flows of any class, for those of this class
    let spent = before.iter().zip(after).map(|(before, after)| {
        let served = |class: traffic_class| {
            let at = class as usize;
            after.softirq_class_ns[at].saturating_sub(before.softirq_class_ns[at]) as f64
        };
        let all = after.softirq_ns + after.irq_ns;
        let all = all.saturating_sub(before.softirq_ns + before.irq_ns) as f64;
        (all, served(LONG) + served(SHORT) + served(NONE), served(class))
    });
    let (mut divided, mut rest, mut flows, mut ours) = (0.0, 0.0, 0.0, 0.0);
    for (all, of_flows, of_class) in spent {
        if of_flows > 0.0 {
            divided += all * of_class / of_flows;
            (flows, ours) = (flows + of_flows, ours + of_class);
        } else {
            rest += all;
        }
    }
    let share = if flows > 0.0 { ours / flows } else { 0.0 };
    (divided + rest * share) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CPU with this softirq time, of which so much was for flows of each class.
    fn cpu(softirq_ns: u64, long: u64, short: u64) -> observed_cpu {
        // SAFETY: a struct of integers.
        let mut cpu: observed_cpu = unsafe { std::mem::zeroed() };
        cpu.softirq_ns = softirq_ns;
        cpu.softirq_class_ns[LONG as usize] = long;
        cpu.softirq_class_ns[SHORT as usize] = short;
        cpu
    }

    #[test]
    fn softirq_that_no_segment_accounts_for_is_divided_as_the_rest_of_its_cpu() {
        let second = 1_000_000_000;
        let before = [cpu(0, 0, 0), cpu(0, 0, 0), cpu(second, second, 0)];
        let mut after = [cpu(4 * second, second, 0), cpu(2 * second, 0, second), before[2]];
        assert_eq!(softirq_for(LONG, &before, &after), 4.0);
        assert_eq!(softirq_for(SHORT, &before, &after), 2.0);
        // a CPU without segments: as all together, one to one
        after[2].softirq_ns += second;
        assert_eq!(softirq_for(LONG, &before, &after), 4.5);
        assert_eq!(softirq_for(NONE, &before, &after), 0.0);
        assert_eq!(softirq_for(LONG, &before, &before), 0.0);
    }
}
