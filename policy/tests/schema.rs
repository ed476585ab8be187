//! The schema, the reader, the reference and the recipes agree.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod common;

use std::{collections::BTreeSet, fs, path::Path};

use common::effective;
use serde_json::Value;
use steer_policy::{Settings, SettingsError};

fn schema() -> Value {
    serde_json::to_value(steer_policy::schema()).unwrap()
}

fn keys() -> BTreeSet<String> {
    schema()["$defs"]["RuleTable"]["properties"].as_object().unwrap().keys().cloned().collect()
}

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The fenced blocks of the reference that are policy files.
fn recipes() -> Vec<String> {
    let reference = text("../docs/policy.md");
    let blocks = reference.split("```toml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_string()).collect()
}

fn fits_schema(policy: &str) -> bool {
    let policy: Value = toml::from_str(policy).unwrap();
    jsonschema::is_valid(&schema(), &policy)
}

#[test]
fn the_reference_has_a_section_for_every_key_and_no_other() {
    let reference = text("../docs/policy.md");
    let sections = reference.lines().filter_map(|line| line.strip_prefix("### `"));
    let documented: BTreeSet<_> =
        sections.map(|line| line.strip_suffix('`').unwrap().to_string()).collect();
    assert_eq!(documented, keys());
}

#[test]
fn the_reference_has_the_ranges_that_are_checked() {
    let mut settings = Settings::default();
    let c = &mut settings.classification;
    (c.long_burst_bytes, c.short_burst_bytes) = (0, 0);
    (c.idle_gap, c.half_life) = (std::time::Duration::ZERO, std::time::Duration::ZERO);
    let ranges: Vec<_> = settings
        .validate()
        .unwrap_err()
        .into_iter()
        .filter_map(|error| match error {
            SettingsError::OutOfRange { key, allowed, .. } => Some((key, allowed)),
            SettingsError::Crossed { .. } => None,
        })
        .collect();
    assert_eq!(ranges.len(), 4);
    let reference = text("../docs/policy.md");
    let section = |key: &str| {
        let from = reference.find(&format!("### `{key}`")).unwrap();
        reference[from + 1..].split("\n#").next().unwrap().to_string()
    };
    for (key, range) in ranges {
        assert!(section(key).contains(&range), "{key}: docs/policy.md does not say {range}");
    }
    assert!(section("reserve").contains("0 to 1024"));
}

#[test]
fn every_recipe_passes_the_check_without_a_warning() {
    let recipes = recipes();
    assert!(recipes.len() >= 5);
    for recipe in recipes {
        let effective = effective(&[&recipe], &[""]).unwrap_or_else(|e| panic!("{e}\n{recipe}"));
        assert_eq!(effective.set().warnings(), [], "{recipe}");
        assert!(fits_schema(&recipe), "not by the schema:\n{recipe}");
    }
}

#[test]
fn the_reader_knows_every_key_of_the_schema() {
    let rule = |key: &str| format!("[[rule]]\ncgroup = \"a\"\n{key} = 1979-05-27\n");
    for key in keys().iter().filter(|key| *key != "cgroup") {
        let said = effective(&[&rule(key)], &[""]).unwrap_err().to_string();
        assert!(said.contains(&format!("{key}: 1979-05-27 is")), "{said}");
    }
    assert!(effective(&[&rule("other")], &[""]).unwrap_err().to_string().contains("unknown key"));
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let refused = [
        "class = \"lnog\"",
        "long-burst = 65536",
        "long-burst = \"64KB\"",
        "idle-gap = \"1min\"",
        "pool = \"nic-locl\"",
        "pool = \"0..3\"",
        "nic = \"eth0/1\"",
        "exclusive = \"yes\"",
        "reserve = 5000",
        "reserve = -1",
        "steer = \"align\"",
        "other = 1",
        "process = \"a*b\"\nclass = \"long\"",
    ];
    for line in refused {
        let policy = format!("[[rule]]\ncgroup = \"a\"\n{line}\n");
        assert!(effective(&[&policy], &[""]).is_err(), "{line}");
        assert!(!fits_schema(&policy), "{line}");
    }
}
