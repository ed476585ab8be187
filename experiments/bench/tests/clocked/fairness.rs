//! Fairness when all CPUs are overloaded with threads of every class: each thread gets its share,
//! and none starves. Runs in the deterministic tier, where instructions are time. Needs root and
//! STEER_LAB=1.

use std::process::Command;

use serde_json::Value;

use crate::guests::lab;

/// Weight of a thread of nice 5 over that of nice 0 (sched_prio_to_weight, kernel/sched/core.c).
const NICE: f64 = 335.0 / 1024.0;
/// Far above the few slices' time that a thread waits for its turn, far below starvation.
const LONGEST_PAUSE_MS: f64 = 1500.0;

fn seconds(hogs: &Value) -> Vec<f64> {
    hogs.as_array().unwrap().iter().map(|hog| hog["cpu_s"].as_f64().unwrap()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn time_goes_by_weight_and_nobody_starves() {
    if !lab("time_goes_by_weight_and_nobody_starves") {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_steer-bench"))
        .args(["det", "--workload", "overload", "--json"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counted: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reports = &counted["reports"];

    let (hogs, nice_hogs) = (seconds(&reports["hogs"]), seconds(&reports["nice-hogs"]));
    for had in [&hogs, &nice_hogs] {
        let even = had.iter().all(|s| (0.6..1.67).contains(&(s / mean(had))));
        assert!(even, "threads of one weight had {had:?}");
    }
    let share = mean(&nice_hogs) / mean(&hogs);
    assert!((NICE / 1.6..NICE * 1.6).contains(&share), "{share}: {hogs:?}, {nice_hogs:?}");
    for hog in ["hogs", "nice-hogs"].iter().flat_map(|kind| reports[kind].as_array().unwrap()) {
        assert!(hog["longest_pause_ms"].as_f64().unwrap() < LONGEST_PAUSE_MS, "{reports:?}");
    }
    for traffic in ["/client/long/bytes", "/client/rpc/count"] {
        assert!(reports.pointer(traffic).unwrap().as_u64().unwrap() > 0, "{traffic}");
    }
}
