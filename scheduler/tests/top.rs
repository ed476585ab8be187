//! `scx_steer top` for scripts: lines of JSON on this host, and what a user sees after bad input.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod common;

use assert_cmd::Command;
use common::is_root;
use predicates::str::contains;

fn top(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("scx_steer").unwrap();
    command.arg("top").args(args);
    command
}

#[test]
fn a_batch_has_as_many_samples_as_asked_for() {
    if !is_root("a_batch_has_as_many_samples_as_asked_for") {
        return;
    }
    let output =
        top(&["--batch", "2", "--interval", "0.2"]).assert().success().get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    let samples: Vec<steer_top::Sample> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(samples.len(), 2);
    for sample in samples {
        assert!(sample.seconds >= 0.2 && !sample.cpus.is_empty(), "{sample:?}");
        let shares = |cpu: &steer_top::CpuUse| [cpu.long, cpu.short, cpu.other, cpu.softirq];
        assert!(sample.cpus.iter().flat_map(shares).all(|share| (0.0..=1.0).contains(&share)));
    }
}

#[test]
fn without_a_terminal_it_says_what_to_use_instead() {
    if !is_root("without_a_terminal_it_says_what_to_use_instead") {
        return;
    }
    top(&[]).assert().code(1).stdout("").stderr(contains("use --json or --batch N"));
}

#[test]
fn bad_numbers_exit_2() {
    top(&["--batch", "0"]).assert().code(2).stderr(contains("0 is not in 1.."));
    top(&["--interval", "0"]).assert().code(2).stderr(contains("allowed is 0.01 to 86400 seconds"));
}
