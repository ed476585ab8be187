//! The repository as a reader meets it: links lead somewhere, the README is short, files are short.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

const HOUSE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// The folders with code.
const ROOMS: [&str; 5] = ["topology", "policy", "bpf", "scheduler", "experiments"];
/// The most lines of a source file, and of the median one.
const LONGEST: usize = 400;
const MEDIAN: usize = 120;

fn house(path: &str) -> PathBuf {
    Path::new(HOUSE).join(path)
}

/// All files below a folder whose names end in one of `endings`.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap().map(Result::unwrap) {
            let path = entry.path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            // does not follow links: those of the recorded sysfs trees lead in circles
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if kind.is_file() && ending.is_some_and(|ending| endings.contains(&ending)) {
                files.push(path);
            }
        }
    }
    files
}

/// The pages: those at the top, those of docs/, and the READMEs of the rooms.
fn pages() -> Vec<PathBuf> {
    let top = house("").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let top = top.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let below = ["docs"].into_iter().chain(ROOMS).flat_map(|room| files(&house(room), &["md"]));
    top.chain(below).collect()
}

/// The anchors of a page: its headings, as GitHub makes anchors of them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let letters = |heading: &str| -> String {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept =
            text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.map(letters).collect()
}

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let (mut dead, mut found) = (Vec::new(), 0);
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in link.captures_iter(&text).map(|link| link[1].to_owned()) {
            if target.contains("://") {
                continue;
            }
            found += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let at = page.parent().unwrap().join(path);
            let at = if path.is_empty() { page.clone() } else { at };
            let has_anchor = || anchors(&fs::read_to_string(&at).unwrap()).contains(anchor);
            if !at.exists() || !anchor.is_empty() && !has_anchor() {
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
    assert!(found > 100, "{found} links were found");
}

#[test]
fn the_readme_takes_two_minutes() {
    let lines = fs::read_to_string(house("README.md")).unwrap().lines().count();
    assert!((80..=120).contains(&lines), "the README has {lines} lines");
}

#[test]
fn files_are_short() {
    let sources = ROOMS.iter().flat_map(|room| files(&house(room), &["rs", "c", "h"]));
    let lines = |path: PathBuf| (fs::read_to_string(&path).unwrap().lines().count(), path);
    let mut lines: Vec<_> = sources.map(lines).collect();
    lines.sort();
    let (longest, path) = lines.last().unwrap();
    assert!(*longest <= LONGEST, "{} has {longest} lines", path.display());
    let median = lines[lines.len() / 2].0;
    assert!(median <= MEDIAN, "half of the files have more than {median} lines");
}
