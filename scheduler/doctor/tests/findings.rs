//! Each finding on a recorded host that has it, and on one that has not. `tests/findings/ID.txtar`
//! says how the two differ from the host `tests/hosts/tuned.txtar`, which has none:
//! `-- has/PATH --` adds or replaces a file, `-- has:remove --` lists files to take away, and
//! `-- has:facts --` sets parts of facts.json, one a line: a JSON pointer and a value. The same with
//! `has-not` gives a host that comes near and has it not; without, the tuned host serves.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod common;

use std::collections::BTreeMap;

use serde_json::Value;
use steer_doctor::{Report, TABLE};

/// The tuned host, changed as the parts of `archive` called `kind` say.
fn host(archive: &common::Archive, kind: &str) -> BTreeMap<String, String> {
    let mut files = common::archive("hosts", "tuned").files;
    let part = |name: &str| archive.files.get(&format!("{kind}:{name}"));
    if let Some(gone) = part("remove") {
        files.retain(|path, _| !gone.lines().any(|gone| path.starts_with(gone)));
    }
    if let Some(changes) = part("facts") {
        let facts = files.get_mut("facts.json").unwrap();
        *facts = changed(facts, changes);
    }
    let folder = format!("{kind}/");
    let added = archive.files.iter().filter_map(|(name, content)| {
        Some((name.strip_prefix(&folder)?.to_owned(), content.clone()))
    });
    files.extend(added);
    files
}

fn changed(facts: &str, changes: &str) -> String {
    let mut facts: Value = serde_json::from_str(facts).unwrap();
    for line in changes.lines().filter(|line| !line.is_empty()) {
        let (pointer, value) = line.split_once(' ').unwrap();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let value = serde_json::from_str(value).unwrap_or_else(|error| panic!("{line}: {error}"));
        match facts.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}")) {
            Value::Object(map) => drop(map.insert(key.to_owned(), value)),
            Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
            _ => panic!("{parent} has no parts"),
        }
    }
    facts.to_string()
}

fn is_unchecked(report: &Report, id: &str) -> bool {
    report.unchecked.iter().any(|it| it.id == id)
}

#[test]
fn each_finding_is_found_where_it_is_and_only_there() {
    let mut text = String::new();
    for row in TABLE {
        let archive = common::archive("findings", row.id);
        assert!(!archive.comment.trim().is_empty(), "{}: say what the trees are", row.id);
        let report = common::report(&host(&archive, "has"));
        let found = report.finding(row.id);
        let found = found.unwrap_or_else(|| panic!("{} not found:\n{report}", row.id));
        let lines = [found.fix(), found.undo()].concat();
        assert!(lines.iter().all(|line| !line.contains(['{', '}'])), "{}: {lines:?}", row.id);
        for case in &found.cases {
            assert!(!case.evidence.is_empty(), "{}", row.id);
            let saw = case.evidence.iter().map(|it| format!("{}: {}", it.read, it.value));
            text +=
                &format!("{} [{}] {}\n", row.id, case.subject, saw.collect::<Vec<_>>().join("; "));
        }
        lines.iter().for_each(|line| text += &format!("    {line}\n"));

        let without = common::report(&host(&archive, "has-not"));
        assert!(without.finding(row.id).is_none(), "{} found where it is not:\n{without}", row.id);
        assert!(!is_unchecked(&without, row.id), "{} was not checked:\n{without}", row.id);
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_file_of_findings_is_of_a_row() {
    let ids: Vec<&str> = TABLE.iter().map(|row| row.id).collect();
    for name in common::names("findings") {
        assert!(ids.contains(&name.as_str()), "tests/findings/{name}.txtar: no such finding");
    }
}

#[test]
fn what_may_not_be_read_is_said_and_not_skipped() {
    let mut files = common::archive("hosts", "tuned").files;
    files.insert("denied".into(), "sys/firmware/dmi/tables/DMI\nproc/net/softnet_stat\n".into());
    let report = common::report(&files);
    assert!(is_unchecked(&report, "memory-channels-empty"), "{report}");
    assert!(is_unchecked(&report, "backlog-drops"), "{report}");
    assert_eq!(report.exit_code(), 3);
    let text = report.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Not checked") && text.contains("run this as root"), "{text}");
}

#[test]
fn without_a_machine_all_that_needs_one_is_unchecked() {
    let mut files = common::archive("hosts", "tuned").files;
    let facts = files.get_mut("facts.json").unwrap();
    *facts = changed(facts, "/machine {\"Err\": \"no hwloc\"}\n/nics {\"Err\": \"no hwloc\"}");
    let report = common::report(&files);
    assert_eq!(report.exit_code(), 3);
    for id in ["irqs-far-from-nic", "offloads-off", "sub-numa-clustering", "cpuset-excludes-nic"] {
        assert!(is_unchecked(&report, id), "{id}:\n{report}");
    }
}
