//! The archived demo as if its samples held other figures of what the CPUs did, or none.

use serde_json::{Value, json};

/// CPUs in use, by place of the arm.
pub(crate) const CPUS_USED: [f64; 3] = [3.5, 3.0, 2.5];
/// The breakdown of every sample: user space, then the kernel's categories, in percent.
pub(crate) const USER: u32 = 40;
pub(crate) const KERNEL: [(&str, u32); 9] = [
    ("data_copy", 18),
    ("tcp_ip", 12),
    ("netdevice", 9),
    ("skb", 6),
    ("memory", 4),
    ("lock", 3),
    ("scheduling", 5),
    ("others", 2),
    ("unclassified", 1),
];

/// Adds what the CPUs did to every sample, and the metrics that follow from it.
pub(crate) fn add_cpu(result: &mut Value) {
    let arms: Vec<String> =
        result["worlds"]["auto"]["arms"].as_object().unwrap().keys().cloned().collect();
    let cpus = |arm: &str| CPUS_USED[arms.iter().position(|name| name == arm).unwrap()];
    for sample in result["raw"].as_array_mut().unwrap() {
        let arm = sample["arm"].as_str().unwrap().to_owned();
        sample["cpu"] = record(cpus(&arm), sample["client"]["duration_s"].as_f64().unwrap());
    }
    for mode in result["worlds"].as_object_mut().unwrap().values_mut() {
        for (arm, metrics) in mode["arms"].as_object_mut().unwrap() {
            let summary = |value: f64| json!({"median": value, "samples": vec![value; 5]});
            metrics["cpus_used"] = summary(cpus(arm));
            metrics["throughput_per_cpu"] = summary(2e7 / cpus(arm));
        }
        for pair in ["default", "pinned"] {
            let pair_name = format!("scx_steer/{pair}");
            let ratio = cpus("scx_steer") / cpus(pair);
            for (metric, ratio) in [("cpus_used", ratio), ("throughput_per_cpu", 1.0 / ratio)] {
                let ratio = json!({"median": ratio, "lo": 0.9 * ratio, "hi": 1.1 * ratio});
                mode["ratios"][metric][&pair_name] = ratio;
            }
        }
    }
}

/// As in results of before that was measured.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn remove_cpu(result: &mut Value) {
    for sample in result["raw"].as_array_mut().unwrap() {
        sample.as_object_mut().unwrap().remove("cpu");
    }
    for mode in result["worlds"].as_object_mut().unwrap().values_mut() {
        for metric in ["cpus_used", "throughput_per_cpu"] {
            mode["ratios"].as_object_mut().unwrap().remove(metric);
            for arm in mode["arms"].as_object_mut().unwrap().values_mut() {
                arm.as_object_mut().unwrap().remove(metric);
            }
        }
    }
}

/// What `steer-bench ab` keeps of one measurement of four CPUs.
fn record(cpus_used: f64, duration_s: f64) -> Value {
    let time = |cpus: f64, all: f64| {
        let busy = cpus * duration_s;
        json!({
            "user_s": 0.4 * busy, "system_s": 0.35 * busy, "softirq_s": 0.25 * busy, "irq_s": 0.0,
            "steal_s": 0.0, "iowait_s": 0.0, "idle_s": all * duration_s - busy
        })
    };
    let share = |percent: u32| f64::from(percent) / 100.0;
    let kernel: serde_json::Map<String, Value> = KERNEL
        .iter()
        .map(|&(name, total)| {
            let total = share(total);
            (name.into(), json!({"total": total, "process": total, "softirq": 0.0, "irq": 0.0}))
        })
        .collect();
    let by_cpu: serde_json::Map<String, Value> =
        (0..4).map(|cpu| (cpu.to_string(), time(cpus_used / 4.0, 1.0))).collect();
    json!({
        "duration_s": duration_s,
        "cpus": "0-3",
        "usage": {"cpus_used": cpus_used, "total": time(cpus_used, 4.0), "by_cpu": by_cpu},
        "counters": {
            "cycles": {
                "value": null, "running_share": null,
                "unavailable": "this machine has no such counter (ENOENT)"
            },
            "context_switches": {"value": 5000, "running_share": 1.0, "unavailable": null}
        },
        "breakdown": {
            "event": "cpu-clock", "hz": 997, "samples": 20000, "lost": 0, "user": share(USER),
            "kernel": kernel, "top_unclassified": []
        },
        "warnings": []
    })
}
