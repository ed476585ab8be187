//! Pages of `steer-bench report`, from the archived demo after an edit.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};

use steer_result::archive;

use crate::archived::DEMO;

/// The archived demo.
pub(crate) fn demo() -> Value {
    serde_json::from_str(&archive::text(Path::new(DEMO)).unwrap()).unwrap()
}

/// The page of the archived demo after an edit.
pub(crate) fn page(edit: impl FnOnce(&mut Value)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("result.json");
    let mut result = demo();
    edit(&mut result);
    fs::write(&json, result.to_string()).unwrap();
    page_of(&json)
}

/// The page of a result or an experiment.
pub(crate) fn page_of(path: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("report.html");
    let output = report(path, &["--out", html.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(Path::new(String::from_utf8(output.stdout).unwrap().trim()), html);
    fs::read_to_string(html).unwrap()
}

/// `steer-bench report` with these flags.
pub(crate) fn report(path: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(cargo_bin!("steer-bench"));
    command.arg("report").arg(path).args(flags).output().unwrap()
}

/// Records where the machine's CPUs are, as a guest of the archived shape does: two nodes with two
/// cores each, here with two SMT threads a core on the second node's.
pub(crate) fn add_topology(result: &mut Value) {
    let queues = |cpus: [&str; 4]| -> Value {
        let queue =
            |(queue, cpus): (usize, &str)| json!({"queue": queue, "irq": 26 + queue, "cpus": cpus});
        cpus.into_iter().enumerate().map(queue).collect()
    };
    result["topology"] = json!({
        "nodes": [{"node": 0, "cpus": "0-1"}, {"node": 1, "cpus": "2-3"}],
        "caches": [{"level": 3, "cpus": "0-1"}, {"level": 3, "cpus": "2-3"}],
        "cores": ["0", "1", "2-3"],
        "nic": "eth0",
        "queues": {
            "auto": queues(["0", "1", "2", "3"]),
            "hash": queues(["2", "3", "2", "3"]),
            "explicit": queues(["2", "3", "2", "0-3"]),
        }
    });
}

/// The folder of an experiment: a copy of one of our spec files, and at every point the archived demo
/// as if it were measured there, its throughput per core times a factor.
pub(crate) fn experiment(folder: &Path, name: &str, points: &[(&str, &str, f64)]) {
    let spec =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs").join(name).with_extension("toml");
    let folder = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::copy(&spec, folder.join(spec.file_name().unwrap())).unwrap();
    for (point, option, factor) in points {
        let mut result = demo();
        let out = format!("--out={name}/{point}");
        result["command"] = json!(["steer-bench", "ab", option, "--pairs=5", out]);
        for arm in ["default", "scx_steer", "pinned"] {
            for mode in result["worlds"].as_object_mut().unwrap().values_mut() {
                let summary = &mut mode["arms"][arm]["throughput_per_core"];
                let scaled = |value: &Value| json!(value.as_f64().unwrap() * factor);
                let samples: Vec<Value> =
                    summary["samples"].as_array().unwrap().iter().map(scaled).collect();
                *summary = json!({"median": scaled(&summary["median"]), "samples": samples});
            }
        }
        fs::create_dir_all(folder.join(point)).unwrap();
        fs::write(folder.join(point).join("result.json"), result.to_string()).unwrap();
    }
}
