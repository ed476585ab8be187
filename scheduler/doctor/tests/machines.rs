//! Whole machines: the report on each, as a user sees it, and its exit code. The first lines of each
//! file in `tests/hosts/` say where it is from.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod common;

use steer_doctor::{Area, Host, Report, TABLE, Wanted, record};

#[test]
fn the_report_on_each_machine() {
    let names = common::names("hosts");
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        let archive = common::archive("hosts", &name);
        assert!(
            ["Recorded", "Composed"].iter().any(|origin| archive.comment.starts_with(origin)),
            "{name}: say first whether the host was recorded or composed"
        );
        let report = common::report(&archive.files);
        let text = format!("{report}\nexit code {}\n", report.exit_code());
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn a_tuned_machine_has_nothing_to_say() {
    let report = common::report(&common::archive("hosts", "tuned").files);
    assert_eq!((report.exit_code(), report.findings.len()), (0, 0), "{report}");
}

#[test]
fn json_has_all_that_the_text_has() {
    let report = common::report(&common::archive("hosts", "untuned").files);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["version"], 1);
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), report.findings.len());
    for finding in findings {
        let words = ["id", "severity", "area", "title", "why", "source"];
        assert!(words.iter().all(|word| finding[word].is_string()), "{finding}");
        assert!(finding["cases"][0]["evidence"][0]["read"].is_string(), "{finding}");
    }
}

#[test]
fn a_recording_gives_the_same_report() {
    let folder = tempfile::tempdir().unwrap();
    for name in common::names("hosts") {
        let (from, to) = (folder.path().join(&name), folder.path().join(format!("{name}-again")));
        common::write(&common::archive("hosts", &name).files, &from);
        let read = |folder| Host::recorded(folder, Wanted::default()).unwrap();
        let host = read(&from);
        let report = Report::of(&host, &Area::ALL).to_string();
        record(&host, &to).unwrap();
        assert_eq!(Report::of(&read(&to), &Area::ALL).to_string(), report, "{name}");
        assert!(record(&host, &to).is_err(), "a recording never overwrites");
    }
}

#[test]
fn areas_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    common::write(&common::archive("hosts", "untuned").files, folder.path());
    let host = Host::recorded(folder.path(), Wanted::default()).unwrap();
    let report = Report::of(&host, &[Area::Load]);
    assert!(report.findings.iter().all(|finding| finding.row.area == Area::Load));
    let of_load = TABLE.iter().filter(|row| row.area == Area::Load).count();
    assert!(report.to_string().contains(&format!("{of_load} checks")), "{report}");
}

#[test]
fn a_folder_that_is_no_recording_is_named_with_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let error = Host::recorded(folder.path(), Wanted::default()).unwrap_err().to_string();
    assert!(error.contains("facts.json") && error.contains("doctor --record"), "{error}");
}
