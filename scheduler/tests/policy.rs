//! `scx_steer policy`: what a user sees.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use assert_cmd::Command;
use predicates::{prelude::*, str::contains};
use serde_json::Value;
use tempfile::TempDir;

const RULES: &str = "\
[[rule]]
cgroup = \"system.slice\"
class = \"none\"

[[rule]]
cgroup = \"system.slice/nginx.service\"
class = \"long\"

[[rule]]
cgroup = \"system.slice/nginx.service\"
process = \"ngi*\"
latency = \"low\"

[[rule]]
cgroup = \"gone.slice\"
steer = \"off\"
";

fn policy(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("scx_steer").unwrap();
    command.arg("policy").args(args);
    command
}

fn json(args: &[&str]) -> Value {
    let output = policy(args).assert().success().get_output().clone();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A file with `text`, and a tree of folders that stands in for cgroups.
fn host(text: &str) -> (TempDir, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("web.toml");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let root = dir.path().join("cgroup");
    fs::create_dir_all(root.join("system.slice/nginx.service")).unwrap();
    fs::create_dir_all(root.join("user.slice")).unwrap();
    let text = |path: &Path| path.display().to_string();
    let (file, root) = (text(&file), text(&root));
    (dir, file, root)
}

#[test]
fn the_example_passes_the_check_and_shows_the_way() {
    let output = policy(&["example"]).assert().success().get_output().clone();
    let (_dir, file, _) = host(&String::from_utf8(output.stdout).unwrap());
    policy(&["check", &file])
        .assert()
        .success()
        .stdout("5 rules in 1 file, no errors, 0 warnings\n");
}

#[test]
fn check_reports_all_errors_and_exits_1() {
    let (_dir, file, _) = host("[[rule]]\ncgroup = \"a\"\nclas = \"long\"\nreserve = -1\n");
    policy(&["check", &file]).assert().code(1).stdout("").stderr(
        contains(format!("{file}:3:1: clas: unknown key"))
            .and(contains("did you mean \"class\"?"))
            .and(contains(format!("{file}:4:11: reserve: -1 is out of range")))
            .and(contains("the policy is refused: 2 errors, 0 warnings")),
    );
    let assert = policy(&["check", "--json", &file]).assert().code(1);
    let report: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    assert_eq!(report["problems"].as_array().unwrap().len(), 2);
    assert_eq!(report["problems"][0]["line"], 3);
    assert_eq!(report["problems"][0]["severity"], "error");
    assert_eq!(report["rules"], Value::Null);
}

#[test]
fn who_can_write_matters_to_what_is_loaded_and_is_only_said_of_drafts() {
    let (_dir, file, root) = host(RULES);
    fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    let said = "can be written by group and others";
    policy(&["check", &file]).assert().success().stderr(contains("warning: ").and(contains(said)));
    policy(&["check", "--policy", &file]).assert().code(1).stderr(contains(said));
    policy(&["show", "--policy", &file, "--cgroup-root", &root])
        .assert()
        .code(1)
        .stdout("")
        .stderr(contains(said));
}

#[test]
fn what_is_not_there_is_said() {
    policy(&["check", "/no/such/file.toml"])
        .assert()
        .code(1)
        .stderr(contains("/no/such/file.toml: cannot be read: No such file or directory"));
    policy(&["check", "a", "--policy", "b"]).assert().code(2).stderr(contains("cannot be used"));
    policy(&["explain", "4294967295"]).assert().code(1).stderr(contains("no process 4294967295"));
    policy(&["explain", ""]).assert().code(2).stderr(contains("the root cgroup is /"));
    policy(&["explain", "1", "--process", "x"]).assert().code(1).stderr(contains("not with a PID"));
}

#[test]
fn show_says_which_cgroups_a_policy_holds_for() {
    let (_dir, file, root) = host(RULES);
    let expected = format!(
        "4 rules in 1 file; they apply to 2 of 4 cgroups in {root}\n\
         \n\
         policy 1: class = none\n\
         \x20 /system.slice  ({file}:1:1)\n\
         \n\
         policy 3: class = long\n\
         \x20 processes \"ngi*\": class = long, latency = low\n\
         \x20 /system.slice/nginx.service  ({file}:9:1, {file}:5:1, {file}:1:1)\n\
         \n\
         rules that match no cgroup now:\n\
         \x20 {file}:14:1  cgroup \"gone.slice\"\n"
    );
    let args = ["show", "--policy", &file, "--cgroup-root", &root];
    policy(&args).assert().success().stdout(expected);

    let shown = json(&[&args[..], &["--json"]].concat());
    assert_eq!(shown["policies"][3]["cgroups"][0]["path"], "system.slice/nginx.service");
    assert_eq!(shown["policies"][3]["processes"][0]["pattern"], "ngi*");
    assert_eq!(shown["rules"][2]["cgroups"], 0);
}

#[test]
fn show_finds_the_cgroups_of_this_host() {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    if !mounts.contains(" - cgroup2 ") {
        eprintln!("SKIPPED show_finds_the_cgroups_of_this_host: cgroup2 is not mounted");
        return;
    }
    let (_dir, file, _) = host("[[rule]]\ncgroup = \"/\"\nlatency = \"low\"\n");
    let shown = json(&["show", "--json", "--policy", &file]);
    let cgroups = shown["policies"][1]["cgroups"].as_array().unwrap();
    assert!(cgroups.iter().any(|cgroup| cgroup["path"] == ""), "the root is one of them");
}

#[test]
fn explain_names_the_rule_and_those_it_outvoted() {
    let (_dir, file, _) = host(RULES);
    let explain = ["explain", "/system.slice/nginx.service/", "--policy", &file];
    let args = [&explain[..], &["--process", "nginx"]].concat();
    policy(&args).assert().success().stdout(
        contains("cgroup   /system.slice/nginx.service\nprocess  nginx\n")
            .and(contains(format!(
                "class        long         {file}:7:1  cgroup \"system.slice/nginx.service\"\n\
                 \x20 overrides  none         {file}:3:1  cgroup \"system.slice\"\n"
            )))
            .and(contains(format!("latency      low          {file}:12:1")))
            .and(contains("long-burst   64KiB        default\n")),
    );
    policy(&explain).assert().success().stdout(contains("latency      normal       default\n"));

    let explained = json(&[&args[..], &["--json"]].concat());
    let class = &explained["values"][0];
    assert_eq!((&class["key"], &class["value"]), (&"class".into(), &"long".into()));
    assert_eq!(class["from"]["at"]["line"], 7);
    assert_eq!(class["outvoted"][0]["value"], "none");
}

#[test]
fn explain_finds_the_cgroup_and_the_name_of_a_process() {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::")) else {
        eprintln!("SKIPPED explain_finds_the_cgroup_and_the_name…: cgroup2 is not mounted");
        return;
    };
    let (_dir, file, _) = host(RULES);
    let explained =
        json(&["explain", &std::process::id().to_string(), "--json", "--policy", &file]);
    assert_eq!(explained["cgroup"], path.trim_start_matches('/'));
    let comm = fs::read_to_string(format!("/proc/{}/comm", std::process::id())).unwrap();
    assert_eq!(explained["process"], comm.trim_end());
}

#[test]
fn the_schema_is_json() {
    assert_eq!(json(&["schema"])["additionalProperties"], false);
}

#[test]
fn every_command_has_examples() {
    for command in ["check", "show", "explain", "example"] {
        policy(&[command, "--help"]).assert().success().stdout(contains("Examples:\n"));
    }
}
