//! The archived runs are whole, small and described, and docs/results.md matches them.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use steer_archive::command::ArchiveOptions;
use steer_archive::results::page;
use steer_result::{AbResult, archive};

const HOUSE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const SCHEMA: &str = include_str!("../../schema/result-v1.json");
/// The most bytes that all runs together may take.
const MOST: u64 = 3_750_000;

fn house(path: &str) -> PathBuf {
    Path::new(HOUSE).join(path)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort_unstable();
    paths
}

fn runs() -> Vec<PathBuf> {
    entries(&house("experiments/runs")).into_iter().filter(|path| path.is_dir()).collect()
}

#[test]
fn every_archived_run_reads_and_fits_the_schema() {
    let validator = jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let mut results = 0;
    for file in runs().iter().flat_map(|run| entries(run)) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".json") && !name.ends_with(".json.gz") {
            continue;
        }
        let document: Value = serde_json::from_str(&archive::text(&file).unwrap()).unwrap();
        if document.get("raw").is_none() {
            continue;
        }
        results += 1;
        let place = file.display();
        let summary: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert!(summary["raw"].is_string(), "{place}: samples belong in a separate file");
        let faults: Vec<_> = validator.iter_errors(&document).map(|it| it.to_string()).collect();
        assert!(faults.is_empty(), "{place}: {faults:?}");
        let result = AbResult::read(&file).unwrap();
        assert!(!result.raw.is_empty() && !result.modes.is_empty(), "{place}");
        for (sample, written) in result.raw.iter().zip(document["raw"].as_array().unwrap()) {
            // Nothing of a report is lost in reading.
            assert_eq!(
                serde_json::to_value(&sample.observe).unwrap(),
                written["observe"],
                "{place}"
            );
            assert_eq!(serde_json::to_value(&sample.client).unwrap(), written["client"], "{place}");
        }
    }
    assert!(results > 20, "{results} results were found");
}

#[test]
fn no_archived_run_was_changed() {
    for run in runs() {
        steer_archive::sums::check(&run).unwrap();
    }
}

#[test]
fn a_changed_added_or_removed_figure_shows() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let source = folder.path().join("cost.json");
    fs::write(&source, r#"{"ns": 100}"#).unwrap();
    let options =
        ArchiveOptions { sources: vec![source], to: run.clone(), commit: Some("abc1234".into()) };
    steer_archive::command::run(&options).unwrap();
    let check = || steer_archive::sums::check(&run).map_err(|error| error.to_string());
    check().unwrap();
    fs::write(run.join("README.md"), "What was found.").unwrap();
    check().unwrap();

    let figure = run.join("cost.json.gz");
    let archived = fs::read(&figure).unwrap();
    fs::write(&figure, "100 ns less").unwrap();
    assert!(check().unwrap_err().contains("archived: cost.json.gz. Archive"));
    fs::write(run.join("another.json"), "{}").unwrap();
    fs::remove_file(&figure).unwrap();
    assert!(check().unwrap_err().contains("archived: another.json, cost.json.gz."));
    fs::remove_file(run.join("another.json")).unwrap();
    fs::write(&figure, archived).unwrap();
    check().unwrap();
    fs::write(run.join("SHA256SUMS"), "no sum").unwrap();
    assert!(check().unwrap_err().contains("\"no sum\" is no line of sha256sum"));
}

#[test]
fn all_runs_together_are_small_and_each_is_described() {
    let mut size = 0;
    for run in runs() {
        for file in ["README.md", "run.toml"] {
            assert!(run.join(file).is_file(), "{} has no {file}", run.display());
        }
        size += entries(&run).iter().map(|file| fs::metadata(file).unwrap().len()).sum::<u64>();
    }
    assert!(size <= MOST, "the archived runs take {size} bytes: drop those that are superseded");
}

#[test]
fn the_page_of_results_is_that_of_the_runs() {
    let found = fs::read_to_string(house("docs/results.md")).unwrap();
    let expected = page(&house("experiments/runs")).unwrap();
    assert!(found == expected, "docs/results.md is stale: run `steer-bench results`");
}

#[test]
fn every_run_that_a_page_cites_is_there() {
    let mut pages = entries(&house("docs"));
    pages.extend(["README.md", "ARCHITECTURE.md"].map(house));
    pages.extend(runs().iter().map(|run| run.join("README.md")));
    let mut cited = 0;
    for page in pages.iter().filter(|path| path.extension().is_some_and(|it| it == "md")) {
        let text = fs::read_to_string(page).unwrap();
        for (start, _) in text.match_indices("](") {
            let target = text[start + 2..].split([')', '#']).next().unwrap();
            if target.contains("/runs/2") || target.starts_with("../2") {
                cited += 1;
                let place = page.parent().unwrap().join(target);
                assert!(place.exists(), "{} cites {target}", page.display());
            }
        }
    }
    assert!(cited > 20, "{cited} runs are cited");
}

/// A folder of runs with one in it: a copy of the demo, described by this text.
fn described(text: &str) -> tempfile::TempDir {
    let runs = tempfile::tempdir().unwrap();
    let run = runs.path().join("2026-11-24-copy");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("README.md"), "Seconds: 1.25, × 0.50 [0.40, 0.60].").unwrap();
    fs::write(run.join("run.toml"), text).unwrap();
    for file in ["result.json", "result.samples.jsonl.gz"] {
        fs::copy(house("experiments/result/tests/archived").join(file), run.join(file)).unwrap();
    }
    runs
}

const HEAD: &str = "title = \"A copy\"\ncommit = \"abc1234\"\n";

fn question(rest: &str) -> String {
    format!("{HEAD}[[question]]\ngroup = \"placement\"\nasks = \"Where?\"\n{rest}")
}

#[test]
fn a_run_that_is_not_described_well_is_refused() {
    let ab = |rest: &str| question(&format!("[[question.ab]]\n{rest}"));
    let quoted = |value: &str| {
        question(&format!(
            "[question.quoted]\nrounds = 9\n[[question.quoted.row]]\nfigure = \"seconds\"\n\
             values = [[\"default\", \"{value}\"]]\nratios = [[\"a/b\", 0.5, 0.4, 0.6]]\n\
             better = \"lower\"\n"
        ))
    };
    for (text, message) in [
        (HEAD.to_owned(), "has no [[question]]"),
        (format!("{HEAD}colour = 1\n"), "unknown field `colour`"),
        (question(""), "has no figures"),
        (ab("metrics = [\"speed\"]"), "no metric is called speed"),
        (ab("metrics = [\"hog_rate\"]"), "arm default has no hog_rate"),
        (ab("steering = [\"spread\"]"), "has no spread"),
        (ab("metrics = [\"rpc_p99\"]\nagainst = [\"rusty\"]"), "there is no arm rusty"),
        (ab("file = \"other.json\""), "other.json"),
        (
            question("headline = true\n[[question.ab]]\nmetrics = [\"rpc_p99\"]"),
            "is a headline: that needs 10 rounds, or counted figures",
        ),
        (quoted("1.26"), "does not say 1.26"),
    ] {
        let runs = described(&text);
        let error = format!("{:#}", page(runs.path()).unwrap_err());
        assert!(error.contains(message), "{message}: {error}");
    }
    let runs = described(&quoted("1.25"));
    let text = page(runs.path());
    // A run with only quoted figures does not know its machine.
    assert!(format!("{:#}", text.unwrap_err()).contains("names no machine"));
}

#[test]
fn a_question_has_its_figures_with_verdicts_in_words() {
    let text = question(
        "[[question.ab]]\nsteering = [\"explicit\"]\nmetrics = [\"local_share\", \"rpc_p99\"]\n",
    );
    let text = page(described(&text).path()).unwrap();
    let start = text.find("## Placement").unwrap();
    let part = &text[start..text.find("## The runs").unwrap()];
    let expected = "\
## Placement

### Where?

[A copy](../experiments/runs/2026-11-24-copy/), commit abc1234, 2026-11-24: 5 rounds, small run.

| steering | figure | default | scx_steer | pinned | scx_steer / default | scx_steer / pinned |
";
    assert!(part.starts_with(expected), "{part}");
    for piece in ["0.65 [0.51, 0.86], better |", "no difference shown |", "| explicit | long-flow"]
    {
        assert!(part.contains(piece), "{piece}: {part}");
    }
    assert!(text.contains("None yet: no run has ten rounds."));
    assert!(
        text.contains("    target/release/steer-bench ab --pairs 5 --worlds auto,hash,explicit")
    );
}
