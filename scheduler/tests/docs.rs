//! The documents of the repository: every link leads somewhere, and the front page stays short.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    fs,
    path::{Path, PathBuf},
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// All Markdown files below `folder`, without build output and hidden folders.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_symlink() || name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            documents(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// The lines of a document that are not code, whether fenced or indented.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence && !line.starts_with("    ")
    })
}

/// The targets of all links and images in a line, without those in code spans.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let outside = line.split('`').step_by(2);
    // a link's text may contain code, so its target is looked for by its own brackets
    outside.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split(')').next())
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// Why a link of the document `from` leads nowhere, if so.
fn fault(from: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, wanted) = target.split_once('#').map_or((target, None), |(p, a)| (p, Some(a)));
    let to = if path.is_empty() { from.to_owned() } else { from.parent().unwrap().join(path) };
    if !to.exists() {
        return Some(format!("{}: {target} does not exist", from.display()));
    }
    let wanted = wanted?;
    let found =
        to.is_file() && anchors(&fs::read_to_string(&to).unwrap()).iter().any(|a| a == wanted);
    (!found).then(|| format!("{}: {target} has no such heading", from.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let mut files = Vec::new();
    documents(Path::new(ROOT), &mut files);
    let mut links = 0;
    let mut faults = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        for target in prose(&text).flat_map(targets) {
            links += 1;
            faults.extend(fault(file, target));
        }
    }
    assert!(links > 20, "only {links} links in {} documents", files.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn dead_links_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.md");
    fs::write(&file, "# `cpu.max`, and more\n\n    [code](none.md)\n").unwrap();
    assert_eq!(fault(&file, "#cpumax-and-more"), None);
    assert_eq!(fault(&file, "a.md#cpumax-and-more"), None);
    assert_eq!(fault(&file, "https://example.org/none"), None);
    assert!(fault(&file, "a.md#more").unwrap().ends_with("has no such heading"));
    assert!(fault(&file, "none.md").unwrap().ends_with("does not exist"));
    let line = "see [`a`](a.md#b), ![picture](b.svg) and `[c](d)`";
    assert_eq!(targets(line).collect::<Vec<_>>(), ["a.md#b", "b.svg"]);
    assert_eq!(prose("a\n    b\n```\nc\n```\nd").collect::<Vec<_>>(), ["a", "d"]);
}

#[test]
fn the_front_page_is_read_in_two_minutes() {
    let lines = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap().lines().count();
    assert!((80..=120).contains(&lines), "README.md has {lines} lines");
}

/// The versions of scx_steer that a text names: numbers with two points after these words.
fn versions(text: &str) -> Vec<&str> {
    let named = ["scx-steer:", "scx_steer ", "scx-steer (", "version: ", "ersion: \"", "version "];
    let after = named.iter().flat_map(|word| text.split(word).skip(1));
    let numbers =
        after.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next());
    numbers.map(|it| it.trim_end_matches('.')).filter(|it| it.matches('.').count() == 2).collect()
}

#[test]
fn every_file_that_names_the_version_names_this_one() {
    let files = [
        "README.md",
        "docs/operating.md",
        "deploy/kubernetes/base/daemonset.yaml",
        "deploy/kubernetes/helm/scx-steer/Chart.yaml",
        "deploy/kubernetes/helm/scx-steer/values.yaml",
        "deploy/kubernetes/image/build.sh",
    ];
    for file in files {
        let text = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
        let found = versions(&text);
        assert!(!found.is_empty(), "{file} names no version");
        for version in found {
            assert_eq!(version, env!("CARGO_PKG_VERSION"), "{file}");
        }
    }
}
