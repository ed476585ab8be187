//! The command line: what a user sees after bad input, or on a host that lacks something.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod common;

use std::{fs, os::unix::process::ExitStatusExt, path::Path, process::Stdio};

use assert_cmd::{Command, cargo::cargo_bin};
use common::is_root;
use predicates::{prelude::*, str::contains};

fn scx_steer(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("scx_steer").unwrap();
    command.args(args);
    command
}

#[test]
fn a_reader_that_has_gone_ends_a_command_quietly() {
    for args in [&["--help-stats"][..], &["topology"], &["doctor"], &["policy", "check"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = std::process::Command::new(cargo_bin!("scx_steer"))
            .args(args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn();
        let output = child.unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGPIPE), "{args:?}: {output:?}");
        assert!(!String::from_utf8(output.stderr).unwrap().contains("panicked"), "{args:?}");
    }
}

#[test]
fn unknown_flags_and_bad_numbers_exit_2() {
    for (args, message) in [
        (&["--no-such-flag"][..], "unexpected argument '--no-such-flag'"),
        (&["observe", "--duration", "soon"], "not a number of seconds"),
        (&["observe", "--duration", "0"], "allowed is 0.01 to 86400 seconds"),
        (&["observe", "--cpus", "2-"], "2-"),
        (&["--stats", "1", "--monitor", "1"], "cannot be used with"),
        (&["--stats", "1", "topology"], "cannot be used with"),
        (&["--slice", "2ms", "topology"], "cannot be used with"),
        (&["--slice", "2"], "2 has no unit"),
        (&["--slice", "2"], "did you mean \"2ms\"?"),
        (&["--slice", "1s"], "--slice: 1s is out of range; allowed: 100us to 100ms"),
        (&["--slice", "1s", "--floor", "0ns"], "--floor: 0ns is out of range"),
        (&["--short-bursts-to-leave-long", "0"], "allowed: 1 to 255"),
    ] {
        scx_steer(args).assert().code(2).stderr(contains(message));
    }
}

#[test]
fn every_setting_is_refused_beyond_what_its_help_allows() {
    let help = scx_steer(&["--help"]).assert().success().get_output().stdout.clone();
    let help = String::from_utf8(help).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    for (option, beyond, allowed) in [
        ("slice", "101ms", "100us to 100ms"),
        ("claim", "61s", "1ms to 60s"),
        ("lend-after", "1001ms", "0ns to 1s"),
        ("queue-cpus", "1025", "1 to 1024"),
        ("short-bursts-to-leave-long", "256", "1 to 255"),
        ("cost-per-kib", "2ms", "1ns to 1ms"),
        ("cost-per-message", "101ms", "0ns to 100ms"),
        ("floor", "2s", "1ns to 1s"),
    ] {
        let refusal = format!("--{option}: {beyond} is out of range; allowed: {allowed}");
        scx_steer(&[&format!("--{option}"), beyond]).assert().code(2).stderr(contains(refusal));
        let of_option = help.split(&format!("--{option} <")).nth(1).unwrap();
        assert!(of_option.split("[default").next().unwrap().contains(allowed), "{option}");
    }
}

#[test]
fn bad_topology_files_are_named_with_the_next_step() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let garbage = write("garbage.xml", "no topology");
    let newer = write("v3.xml", "<?xml version=\"1.0\"?>\n<topology version=\"3.0\"></topology>");
    let missing = dir.path().join("missing.xml").display().to_string();
    for (file, message) in [
        (&missing, "cannot read the topology file"),
        (&garbage, "is not an hwloc topology"),
        (&newer, "is hwloc 3.0 XML"),
    ] {
        scx_steer(&["topology", "--xml", file])
            .assert()
            .code(1)
            .stdout("")
            .stderr(contains(message).and(contains(file.as_str())).and(contains("lstopo")));
    }
}

#[test]
fn the_topology_of_this_machine_is_valid_json() {
    let output = scx_steer(&["topology", "--json"]).assert().success().get_output().clone();
    let machine: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!machine["cpus"].as_array().unwrap().is_empty());
}

#[test]
fn the_status_of_nothing_is_an_error() {
    if Path::new("/sys/kernel/sched_ext/root/ops").exists() {
        println!("SKIPPED the_status_of_nothing_is_an_error: a scheduler is in force here");
        return;
    }
    scx_steer(&["status", "--json"])
        .assert()
        .code(1)
        .stdout("")
        .stderr("scx_steer: scx_steer is not in force: `sudo scx_steer` loads it\n");
}

#[test]
fn a_kernel_without_sched_ext_is_said_and_nothing_is_loaded() {
    if Path::new("/sys/kernel/sched_ext").exists() {
        eprintln!("SKIPPED a_kernel_without_sched_ext_is_said…: this kernel has sched_ext");
        return;
    }
    scx_steer(&[]).assert().code(1).stderr(contains("CONFIG_SCHED_CLASS_EXT=y"));
}

#[test]
fn every_statistic_is_described() {
    scx_steer(&["--help-stats"])
        .assert()
        .success()
        .stdout(contains("long_home").and(contains("short_lent")));
}

#[test]
fn a_short_observation_reports_the_scheduler_in_force() {
    if !is_root("a_short_observation_reports_the_scheduler_in_force") {
        return;
    }
    let output = scx_steer(&["observe", "--duration", "0.3", "--json"])
        .assert()
        .success()
        .stderr(contains("observing"))
        .get_output()
        .clone();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["version"], 1);
    assert!(report["none"]["cpu_s"].as_f64().unwrap() > 0.0, "this test itself runs somewhere");
}

#[test]
fn only_the_cpus_asked_for_are_observed() {
    if !is_root("only_the_cpus_asked_for_are_observed") {
        return;
    }
    // both CPUs are busy, and one counts
    let hogs = ["0", "1"].map(|cpu| {
        let script = ["-c", cpu, "sh", "-c", "while :; do :; done"];
        std::process::Command::new("taskset").args(script).spawn().unwrap()
    });
    let observed = scx_steer(&["observe", "--cpus", "0", "--duration", "0.5", "--json"])
        .assert()
        .get_output()
        .clone();
    for mut hog in hogs {
        hog.kill().unwrap();
        hog.wait().unwrap();
    }
    let report: serde_json::Value = serde_json::from_slice(&observed.stdout).unwrap();
    let ran = ["long", "short", "none"].map(|class| report[class]["cpu_s"].as_f64().unwrap());
    let busy = ran.iter().sum::<f64>() / report["duration_s"].as_f64().unwrap();
    assert!(busy > 0.0 && busy < 1.1, "{busy} CPUs were busy");

    scx_steer(&["observe", "--cpus", "4095", "--duration", "0.5"])
        .assert()
        .code(1)
        .stderr(contains("none of the CPUs of --cpus is online: 0"));
}
