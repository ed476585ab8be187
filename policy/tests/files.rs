//! The messages for bad policy files: one file per mistake.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{fmt::Write, fs, path::Path};

use steer_policy::{CgroupTree, Effective, Files, PolicySet, Settings, Source};

/// Every file in `tests/FOLDER` by itself, with its messages.
fn said_of(folder: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut said = String::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let files = Files::from_sources(vec![Source { name: "x.toml".into(), text }]);
        let result = PolicySet::read(&files)
            .and_then(|set| Effective::new(set, Settings::default(), &CgroupTree::default()));
        writeln!(said, "{name}").unwrap();
        match &result {
            Ok(effective) => {
                effective.set().warnings().iter().for_each(|w| writeln!(said, "    {w}").unwrap());
            }
            Err(problems) => {
                problems.as_slice().iter().for_each(|p| writeln!(said, "    {p}").unwrap());
            }
        }
        assert_eq!(result.is_err(), folder == "bad", "{name}");
    }
    said
}

#[test]
fn each_mistake_is_refused_with_its_message() {
    insta::assert_snapshot!(said_of("bad"));
}

#[test]
fn what_has_no_effect_is_warned_of() {
    insta::assert_snapshot!(said_of("warn"));
}
