//! The README's figures come from archived runs: the lab's and the model's. None is typed by hand.
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
/// A row of a table: metric, its name there, stored units per shown unit, decimals.
type Row = (&'static str, &'static str, f64, usize);
/// What the README shows, by the order of the runs that it names.
const TABLES: [&[Row]; 2] = [
    &[
        ("local_share", "long-flow bytes copied on a CPU near the NIC", 1.0, 3),
        ("home_share", "long-flow bytes copied on the CPU whose softirq handled them", 1.0, 3),
        ("mixed_share", "long-flow CPU time on CPUs shared with RPC threads", 1.0, 3),
    ],
    &[
        ("throughput_per_core", "long-flow MB per CPU-second of long flows", 1e6, 0),
        ("rpcs_per_cpu_second", "RPCs per CPU-second of RPCs", 1.0, 0),
        ("rpc_p99", "RPC p99, µs", 1.0, 0),
        ("hog_rate", "work of the busy loops, per second", 1.0, 0),
    ],
];

/// The README, and the results that it names with "the run".
fn readme_and_results() -> (String, Vec<PathBuf>) {
    let readme = fs::read_to_string(README).unwrap();
    let runs = readme.split("[the run](experiments/runs/").skip(1);
    let result =
        |run: &str| Path::new(RUNS).join(run.split_once('/').unwrap().0).join("result.json");
    let results = runs.map(result).take(TABLES.len()).collect();
    (readme, results)
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&archive::text(path).unwrap()).unwrap()
}

#[test]
fn the_runs_have_enough_rounds_for_a_headline() {
    let (_, results) = readme_and_results();
    for path in results {
        let rounds = read(&path)["pairs"].as_u64().unwrap();
        assert!(rounds >= HEADLINE_ROUNDS as u64, "{}: {rounds} rounds", path.display());
    }
}

/// A table as it must be.
fn expected(rows: &[Row], result: &Value) -> String {
    let mut text = String::from("| | default | scx_steer | pinned by hand |\n|---|---|---|---|\n");
    for (metric, words, scale, decimals) in rows {
        let medians = ["default", "scx_steer", "pinned"].map(|arm| {
            let median = &result["worlds"][STEERING]["arms"][arm][metric]["median"];
            format!("{:.decimals$}", median.as_f64().unwrap() / scale)
        });
        text.push_str(&format!("| {words} | {} |\n", medians.join(" | ")));
    }
    text
}

#[test]
fn the_tables_are_those_of_the_runs_it_names() {
    let (readme, results) = readme_and_results();
    assert_eq!(results.len(), TABLES.len(), "the README names a run for each table");
    for (rows, path) in TABLES.iter().zip(results) {
        let expected = expected(rows, &read(&path));
        assert!(readme.contains(&expected), "the README must have:\n{expected}");
    }
}

#[test]
fn the_sample_output_is_that_of_the_first_run_it_names() {
    let (readme, results) = readme_and_results();
    let output = Command::new(env!("CARGO_BIN_EXE_steer-bench"))
        .arg("table")
        .arg(&results[0])
        .output()
        .unwrap();
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
