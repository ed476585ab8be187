//! The report as a file: whole, self-contained, and written even when parts of a result are damaged.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/runs/2026-11-22-demo/result.json");

/// The page of the recorded result after an edit.
fn page(edit: impl FnOnce(&mut Value)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (json, html) = (folder.path().join("result.json"), folder.path().join("report.html"));
    let mut result: Value = serde_json::from_str(&fs::read_to_string(RECORDED).unwrap()).unwrap();
    edit(&mut result);
    fs::write(&json, result.to_string()).unwrap();
    let mut command = Command::new(cargo_bin!("steer-bench"));
    let output = command.arg("report").arg(&json).arg("--out").arg(&html).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(Path::new(String::from_utf8(output.stdout).unwrap().trim()), html);
    fs::read_to_string(html).unwrap()
}

fn edit_samples(result: &mut Value, edit: impl Fn(&mut Value)) {
    result["raw"].as_array_mut().unwrap().iter_mut().for_each(edit);
}

#[test]
fn the_page_has_all_parts_and_needs_nothing_else() {
    let page = page(|_| {});
    for part in [
        "<!DOCTYPE html>",
        "scx_steer against default and pinned",
        "targets</strong>",
        "TCG emulation",
        "Steering: auto",
        "Steering: hash",
        "Share of RPCs answered within a time",
        "CPU time by class over time",
        "NIC-local",
        "6.18.15+deb13-cloud-amd64",
        "How to read this",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["<script", "<link", "<img", "src=", "href=", "url(", "@import", "http"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""), "a drawing fell off its scale");
}

#[test]
fn bare_metal_needs_no_caveat() {
    let page = page(|result| result["environment"]["accelerator"] = Value::Null);
    assert!(!page.contains("TCG emulation"));
}

#[test]
fn damaged_parts_are_said_and_the_rest_is_shown() {
    let page = page(|result| {
        edit_samples(result, |sample| {
            sample["client"]["rpc"]["histogram"] = json!("AAAA");
            sample["observe"].as_object_mut().unwrap().remove("timeline");
        });
    });
    assert!(page.contains("The latencies cannot be drawn: the latency histogram is damaged"));
    assert!(page.contains("The observer recorded no timeline."));
    assert!(page.contains("throughput_per_core"));
}

#[test]
fn nothing_measured_is_no_crash() {
    let page = page(|result| {
        result["raw"] = json!([]);
        result["worlds"] = json!({});
    });
    assert!(page.contains("compared with nothing"));
}

#[test]
fn names_from_outside_are_escaped() {
    let page = page(|result| {
        result["warnings"] = json!(["<script>alert(1)</script>"]);
        result["command"] = json!(["<b>"]);
    });
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
    assert!(!page.contains("<b>"));
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let mut command = Command::new(cargo_bin!("steer-bench"));
    let output = command.args(["report", RECORDED, "--out", "/no/such/folder/x.html"]).output();
    let output = output.unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write /no/such/folder"));
}
