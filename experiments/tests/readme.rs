//! The README's table is the archived demo's: no figure there is typed by hand.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::Path;

use serde_json::Value;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
const RUNS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/runs");
/// What the README shows: metric, its words for it, stored values in one shown, decimals.
const ROWS: [(&str, &str, f64, usize); 5] = [
    ("local_share", "long-flow bytes copied on a NIC-local CPU", 1.0, 3),
    ("home_share", "… on the CPU whose softirq handled them", 1.0, 3),
    ("mixed_share", "long-flow CPU time shared with RPC threads", 1.0, 3),
    ("rpc_p99", "RPC p99, ms", 1000.0, 1),
    ("rpcs_per_cpu_second", "RPCs per CPU-second", 1.0, 0),
];

/// The table as it must be.
fn expected(result: &Value) -> String {
    let mut text = String::from(
        "| steering | | default | scx_steer | pinned by hand |\n|---|---|---|---|---|\n",
    );
    for world in ["auto", "hash", "explicit"] {
        for (index, (metric, words, scale, decimals)) in ROWS.into_iter().enumerate() {
            let first = if index == 0 { format!("**{world}**") } else { String::new() };
            let medians = ["default", "scx_steer", "pinned"].map(|arm| {
                let median = &result["worlds"][world]["arms"][arm][metric]["median"];
                format!("{:.decimals$}", median.as_f64().unwrap() / scale)
            });
            text.push_str(&format!("| {first} | {words} | {} |\n", medians.join(" | ")));
        }
    }
    text
}

#[test]
fn the_table_is_that_of_the_run_it_names() {
    let readme = fs::read_to_string(README).unwrap();
    let run =
        readme.split_once("[the run](experiments/runs/").unwrap().1.split_once('/').unwrap().0;
    let path = Path::new(RUNS).join(run).join("result.json");
    let result: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let expected = expected(&result);
    assert!(readme.contains(&expected), "the README must have:\n{expected}");
}
