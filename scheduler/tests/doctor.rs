//! `scx_steer doctor` on this host, and what a user sees after bad input.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use assert_cmd::Command;
use predicates::{prelude::*, str::contains};

fn doctor(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("scx_steer").unwrap();
    command.arg("doctor").args(args);
    command
}

/// Text and exit code.
fn answer(args: &[&str]) -> (String, i32) {
    let output = doctor(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.stderr.is_empty(), "{:?}", String::from_utf8_lossy(&output.stderr));
    (text, output.status.code().unwrap())
}

#[test]
fn a_recording_of_this_host_says_what_the_host_says() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("host").display().to_string();
    let only = ["--only", "load,host"];
    let here = answer(&[&only[..], &["--record", &recording]].concat());
    let there = answer(&[&only[..], &["--host", &recording]].concat());
    assert_eq!(here, there);
    assert!(here.0.starts_with("scx_steer ") && (0..=3).contains(&here.1), "{here:?}");
    // a recording never overwrites another
    doctor(&["--only", "load", "--record", &recording]).assert().code(2).stderr(contains("exists"));
}

#[test]
fn json_agrees_with_the_exit_code() {
    let (text, code) = answer(&["--only", "load", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let count = |of: &str| report["summary"][of].as_u64().unwrap();
    let expected = match (count("errors"), count("warnings"), count("unchecked")) {
        (1.., ..) => 2,
        (_, 1.., _) => 1,
        (_, _, 1..) => 3,
        _ => 0,
    };
    assert_eq!(code, expected);
}

#[test]
fn bad_input_exits_2_with_the_next_step() {
    let none = "/no/such/folder";
    for (args, message) in [
        (&["--explain", "nonsense"][..], "there is no finding nonsense; there are: no-sched-ext"),
        (&["--host", none], "doctor --record"),
        (&["--only", "all"], "possible values: load, host, gain"),
        (&["--observe", "0"], "allowed is 0.01 to 86400 seconds"),
        (&["--record", none, "--host", none], "cannot be used with"),
    ] {
        doctor(args).assert().code(2).stdout("").stderr(contains(message));
    }
    doctor(&["--explain", "iommu-strict"])
        .assert()
        .success()
        .stdout(contains("Why:").and(contains("DMA-FQ | sudo tee")));
}
