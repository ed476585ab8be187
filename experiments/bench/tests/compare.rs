//! `steer-bench compare` on edited copies of the recorded result.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "../../result/tests/archived/mod.rs"]
mod archived;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use archived::DEMO;
use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};
use steer_result::archive;

fn recorded() -> Value {
    serde_json::from_str(&archive::text(Path::new(DEMO)).unwrap()).unwrap()
}

/// Compares the recorded result with a copy of it after an edit.
fn compare(edit: impl FnOnce(&mut Value), flags: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.json");
    let mut result = recorded();
    edit(&mut result);
    fs::write(&path, result.to_string()).unwrap();
    run(Path::new(DEMO), &path, flags)
}

fn run(a: &Path, b: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(cargo_bin!("steer-bench"));
    command.arg("compare").args([a, b]).args(flags).output().unwrap()
}

/// The comparison as JSON.
fn comparison(edit: impl FnOnce(&mut Value)) -> Value {
    let output = compare(edit, &["--json"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn warns(comparison: &Value, part: &str) -> bool {
    let warnings = comparison["warnings"].as_array().unwrap();
    warnings.iter().any(|warning| warning.as_str().unwrap().contains(part))
}

/// Multiplies all values of an arm's metric by a factor.
fn scale(result: &mut Value, arm: &str, metric: &str, factor: f64) {
    let summary = &mut result["worlds"]["auto"]["arms"][arm][metric];
    let scaled = |value: &Value| json!(value.as_f64().unwrap() * factor);
    summary["median"] = scaled(&summary["median"]);
    summary["samples"].as_array_mut().unwrap().iter_mut().for_each(|v| *v = scaled(v));
}

#[test]
fn a_run_against_itself_shows_no_difference() {
    let comparison = comparison(|_| {});
    assert!(warns(&comparison, "A and B have the same samples"));
    for arms in comparison["worlds"].as_object().unwrap().values() {
        for figures in arms.as_object().unwrap().values() {
            for (metric, figure) in figures.as_object().unwrap() {
                assert_eq!(figure["a"], figure["b"], "{metric}");
                assert_eq!(figure["verdict"], Value::Null, "{metric}: {figure}");
            }
        }
    }
}

#[test]
fn what_changed_is_found_and_the_rest_is_not() {
    let comparison = comparison(|result| {
        scale(result, "scx_steer", "throughput_per_core", 2.0);
        scale(result, "scx_steer", "rpc_p99", 10.0);
    });
    let arm = &comparison["worlds"]["auto"]["scx_steer"];
    assert_eq!(arm["throughput_per_core"]["verdict"], "better");
    assert_eq!(arm["rpc_p99"]["verdict"], "worse");
    assert_eq!(arm["rpc_rate"]["verdict"], Value::Null);
    let ratio = &arm["throughput_per_core"]["ratio"];
    assert_eq!(ratio["median"], 2.0);
    assert!(ratio["lo"].as_f64().unwrap() > 1.0 && ratio["hi"].as_f64().unwrap() > 2.0);
    assert!(comparison["method"].as_str().unwrap().contains("not paired"));
    assert!(!warns(&comparison, "something other than the main arm changed"));
}

#[test]
fn other_machines_and_workloads_are_warnings() {
    let comparison = comparison(|result| {
        for (field, value) in [
            ("kernel", json!("7.2.1")),
            ("shape", json!("1x4x1")),
            ("qemu", Value::Null),
            ("subject_version", json!("scx_steer 9")),
            ("started", json!("later")),
        ] {
            result["environment"][field] = value;
        }
        result["workload"]["long_rate"] = json!("1Gbit");
        result["command"] = json!(["steer-bench", "ab", "--steer-arg=--x", "--out", "elsewhere"]);
        result["warnings"] = json!(["one", "two"]);
    });
    for part in [
        "environment: kernel is 6.18.15+deb13-cloud-amd64 in A and 7.2.1 in B",
        "environment: shape is 2x2x1 in A and 1x4x1 in B",
        "environment: qemu is QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1) in A and unknown in B",
        "environment: subject version is scx_steer 0.1.0 in A and scx_steer 9 in B",
        "workload: long rate is 40Mbit in A and 1Gbit in B",
        "ab --steer-arg=--x in B",
        "B has 2 warnings of its own",
    ] {
        assert!(warns(&comparison, part), "{part}: {:#}", comparison["warnings"]);
    }
    assert!(!warns(&comparison, "started") && !warns(&comparison, "elsewhere"));
}

#[test]
fn arms_that_should_not_have_changed_are_a_control() {
    let metrics = [
        "throughput_per_core",
        "throughput_per_cpu",
        "cpus_used",
        "rpc_rate",
        "rpc_p50",
        "rpcs_per_cpu_second",
        "switches",
        "migrations",
    ];
    let comparison = comparison(|result| {
        metrics.into_iter().for_each(|metric| scale(result, "default", metric, 3.0));
    });
    assert!(warns(&comparison, "ratios of default and pinned also exclude 1"));
}

#[test]
fn what_only_one_run_has_is_a_warning() {
    let comparison = comparison(|result| {
        result["worlds"].as_object_mut().unwrap().remove("hash");
        result["worlds"]["auto"]["arms"].as_object_mut().unwrap().remove("pinned");
    });
    assert!(warns(&comparison, "B lacks the steering mode hash"));
    assert!(warns(&comparison, "B lacks the arm pinned in auto"));
    assert_eq!(comparison["worlds"].as_object().unwrap().len(), 2);
    assert_eq!(comparison["worlds"]["auto"].as_object().unwrap().len(), 2);
}

#[test]
fn too_few_rounds_give_no_interval() {
    let comparison = comparison(|result| {
        for mode in result["worlds"].as_object_mut().unwrap().values_mut() {
            for arm in mode["arms"].as_object_mut().unwrap().values_mut() {
                for summary in arm.as_object_mut().unwrap().values_mut() {
                    summary["samples"].as_array_mut().unwrap().truncate(2);
                }
            }
        }
        result["pairs"] = json!(2);
    });
    assert!(warns(&comparison, "5 rounds in A and 2 in B are too few for intervals"));
    assert_eq!(comparison["worlds"]["auto"]["default"]["rpc_rate"]["ratio"], Value::Null);
}

#[test]
fn nothing_in_common_is_an_error() {
    let modes = |result: &mut Value| {
        let hash = result["worlds"]["hash"].take();
        result["worlds"] = json!({ "spread": hash });
    };
    let arms = |result: &mut Value| {
        let arms = result["worlds"]["hash"]["arms"]["default"].take();
        result["worlds"] = json!({ "hash": { "arms": { "lavd": arms }, "ratios": {} } });
    };
    for (edit, message) in [
        (
            modes as fn(&mut Value),
            "A has the steering modes auto, hash, explicit, B has the steering modes spread",
        ),
        (arms, "A has the arms default, scx_steer, pinned, B has the arms lavd"),
        (|result| result["worlds"] = json!({}), "B has no steering modes"),
    ] {
        let output = compare(edit, &[]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success());
        assert!(stderr.contains("cannot compare") && stderr.contains(message), "{stderr}");
    }
    let output = run(Path::new(DEMO), Path::new("/no/such/file.json"), &[]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot read /no/such/file.json"));
}

#[test]
fn the_text_reads_well() {
    let edit = |result: &mut Value| {
        scale(result, "scx_steer", "throughput_per_core", 2.0);
        result["environment"]["kernel"] = json!("7.2.1");
    };
    let terminal = text(&compare(edit, &[]));
    assert!(terminal.lines().all(|line| line.chars().count() <= 100));
    insta::assert_snapshot!(terminal);
    let markdown = text(&compare(edit, &["--markdown"]));
    assert!(markdown.contains("### auto steering, scx_steer") && markdown.contains("| better"));
}
