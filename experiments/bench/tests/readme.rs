//! The README's figures come from the archived demo. None is typed by hand.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use steer_archive::results::HEADLINE_ROUNDS;
use steer_result::archive;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../runs");
/// The steering mode that the README shows.
const STEERING: &str = "hash";
/// What the README shows: metric, its name there, stored units per shown unit, decimals.
const ROWS: [(&str, &str, f64, usize); 5] = [
    ("local_share", "long-flow bytes copied on a CPU near the NIC", 1.0, 3),
    ("home_share", "long-flow bytes copied on the CPU whose softirq handled them", 1.0, 3),
    ("mixed_share", "long-flow CPU time on CPUs shared with RPC threads", 1.0, 3),
    ("rpc_p99", "RPC p99, ms", 1000.0, 1),
    ("hog_rate", "work of the busy loops, per second", 1.0, 0),
];

/// The README, and the result that it names.
fn readme_and_result() -> (String, PathBuf) {
    let readme = fs::read_to_string(README).unwrap();
    let run =
        readme.split_once("[the run](experiments/runs/").unwrap().1.split_once('/').unwrap().0;
    let result = Path::new(RUNS).join(run).join("result.json");
    (readme, result)
}

#[test]
fn a_run_with_too_few_rounds_for_a_headline_is_called_small() {
    let (readme, path) = readme_and_result();
    let result: Value = serde_json::from_str(&archive::text(&path).unwrap()).unwrap();
    let small = result["pairs"].as_u64().unwrap() < HEADLINE_ROUNDS as u64;
    assert_eq!(readme.contains("a *small run*"), small);
}

/// The table as it must be.
fn expected(result: &Value) -> String {
    let mut text = String::from("| | default | scx_steer | pinned by hand |\n|---|---|---|---|\n");
    for (metric, words, scale, decimals) in ROWS {
        let medians = ["default", "scx_steer", "pinned"].map(|arm| {
            let median = &result["worlds"][STEERING]["arms"][arm][metric]["median"];
            format!("{:.decimals$}", median.as_f64().unwrap() / scale)
        });
        text.push_str(&format!("| {words} | {} |\n", medians.join(" | ")));
    }
    text
}

#[test]
fn the_table_is_that_of_the_run_it_names() {
    let (readme, path) = readme_and_result();
    let result: Value = serde_json::from_str(&archive::text(&path).unwrap()).unwrap();
    let expected = expected(&result);
    assert!(readme.contains(&expected), "the README must have:\n{expected}");
}

#[test]
fn the_sample_output_is_that_of_the_run_it_names() {
    let (readme, path) = readme_and_result();
    let output =
        Command::new(env!("CARGO_BIN_EXE_steer-bench")).arg("table").arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let of_mode = printed.split_once(&format!("{STEERING} steering: ")).unwrap().1;
    let shown = readme.split_once(&format!("    {STEERING} steering: ")).unwrap().1;
    let mut lines = shown.lines().take_while(|line| line.trim() != "...");
    assert_eq!(lines.next(), of_mode.lines().next());
    let rows: Vec<_> = lines.collect();
    assert!(rows.len() > 1, "the README must show some rows");
    for (row, wanted) in rows.iter().zip(of_mode.lines().skip(1)) {
        assert_eq!(row.trim(), wanted.trim_end());
    }
}
