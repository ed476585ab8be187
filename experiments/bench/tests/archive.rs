//! `steer-bench archive`, and the commands that read archives.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "../../result/tests/archived/mod.rs"]
mod archived;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use archived::{DEMO, DEMO_IPERF3};
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use steer_result::archive;

fn bench(args: &[&str]) -> Output {
    Command::new(cargo_bin!("steer-bench")).args(args).output().unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder as `make demo` leaves it, with plain results.
fn demo(folder: &Path) {
    fs::create_dir_all(folder.join("iperf3")).unwrap();
    for (from, to) in [(DEMO, "result.json"), (DEMO_IPERF3, "iperf3/result.json")] {
        let result: Value = serde_json::from_str(&archive::text(Path::new(from)).unwrap()).unwrap();
        fs::write(folder.join(to), serde_json::to_string_pretty(&result).unwrap()).unwrap();
    }
    fs::write(folder.join("report.html"), "").unwrap();
}

#[test]
fn an_archived_demo_is_small_and_reads_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, kept) = (folder.path().join("demo"), folder.path().join("runs/2026-11-24-demo"));
    demo(&plain);
    let archive = ["archive", path(&plain), "--to", path(&kept), "--commit", "abc1234"];
    let output = bench(&archive);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let files = [
        "README.md",
        "SHA256SUMS",
        "iperf3.json",
        "iperf3.samples.jsonl.gz",
        "result.json",
        "result.samples.jsonl.gz",
        "run.toml",
    ];
    for file in files {
        assert!(said.contains(file) && kept.join(file).exists(), "{file}: {said}");
    }
    assert_eq!(kept.read_dir().unwrap().count(), files.len());
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let small = size(&kept.join("result.json")) + size(&kept.join("result.samples.jsonl.gz"));
    assert!(small * 4 < size(&plain.join("result.json")), "{small}");

    let readme = fs::read_to_string(kept.join("README.md")).unwrap();
    for part in ["# 2026-11-24-demo", "--worlds auto,hash,explicit", "Commit abc1234", "6.18.15"] {
        assert!(readme.contains(part), "{part}: {readme}");
    }
    // Plain or archived, a file or its folder: the same tables, samples and comparison.
    let summary = kept.join("result.json");
    for command in [&["table"][..], &["report", "--csv", "-"]] {
        let of = |result: &Path| bench(&[command, &[path(result)]].concat());
        let expected = of(&plain.join("result.json"));
        assert!(expected.status.success(), "{expected:?}");
        assert_eq!(of(&summary), expected);
        assert_eq!(of(&kept), expected);
    }
    let compared = bench(&["compare", path(&kept), path(&plain), "--json"]);
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let ratio = &compared["worlds"]["hash"]["scx_steer"]["rpc_p99"]["ratio"]["median"];
    assert_eq!(ratio.as_f64(), Some(1.0), "{compared}");

    // An archive never changes.
    let before = fs::read(&summary).unwrap();
    let output = bench(&archive);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("exists, and archives are never"), "{said}");
    assert_eq!(fs::read(&summary).unwrap(), before);
}

#[test]
fn what_cannot_be_archived_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (bad, kept) = (folder.path().join("bad.json"), folder.path().join("kept"));
    fs::write(&bad, "{\"version\": 1").unwrap();
    let output = bench(&["archive", DEMO, path(&bad), "--to", path(&kept), "--commit", "abc"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("cannot archive"), "{said}");
    assert!(said.contains("bad.json") && said.contains("EOF"), "{said}");
    assert!(!kept.exists());
}
