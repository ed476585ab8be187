//! `steer-bench contend`: groups of threads on this host, and what it refuses.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use assert_cmd::Command;
use predicates::prelude::*;
use serde_json::Value;

fn contend(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steer-bench"));
    command.arg("contend").args(arguments);
    command
}

#[test]
fn groups_that_make_no_sense_are_refused() {
    let refused: [(&[&str], &str); 7] = [
        (&["--group", "x nice=20"], "x: nice=20: write a whole number from -20 to 19"),
        (&["--group", "x", "--cgroup", "a max=20"], "a: max=20: write a percentage of one CPU"),
        (&["--cgroup", "a"], "--group"),
        (&["--group", "x", "--threads", "2"], "cannot be used with"),
        (&["--group", "x", "--group", "x"], "two groups are called x"),
        (&["--group", "x cgroup=a"], "add --cgroup a"),
        (&["--group", "x late-ms=2000"], "raise --lead-ms"),
    ];
    for (arguments, message) in refused {
        contend(arguments).assert().failure().stdout("").stderr(predicate::str::contains(message));
    }
}

#[test]
fn groups_are_measured_over_one_window() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED groups_are_measured_over_one_window: needs root");
        return;
    }
    let groups = ["heavy cpus=0 threads=2", "light cpus=0 nice=19", "idle run-ms=1 sleep-ms=60000"];
    let mut arguments = vec!["--duration", "1", "--lead-ms", "200"];
    arguments.extend(groups.iter().flat_map(|group| ["--group", group]));
    let done = contend(&arguments).assert().success();
    let report: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let groups = report["groups"].as_array().unwrap();
    let names: Vec<_> = groups.iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["heavy", "light", "idle"]);
    let cpu_s = |group: usize| groups[group]["cpu_s"].as_f64().unwrap();
    // Whatever else this host does, by weight it is 2048 to 15, and both have the same CPU.
    assert!(cpu_s(0) > cpu_s(1), "{report}");
    let window_s = report["window_s"].as_f64().unwrap();
    assert!(window_s >= 1.0 && cpu_s(0) + cpu_s(1) <= 1.05 * window_s, "{report}");
    let pauses: Vec<_> =
        groups.iter().map(|group| group["pauses_ms"].as_array().unwrap().len()).collect();
    assert_eq!(pauses, [2, 1, 1], "one per thread");
}

#[test]
fn a_cpu_that_is_not_there_is_named() {
    contend(&["--group", "lost cpus=1000"])
        .assert()
        .failure()
        .stderr(predicate::str::contains("group lost: cannot run on CPUs 1000"));
}
