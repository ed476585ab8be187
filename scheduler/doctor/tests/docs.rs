//! docs/doctor.md is made from the table. To make it anew:
//! `INSTA_UPDATE=always cargo test --release -p steer-doctor --test docs`.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs;

use steer_doctor::{TABLE, explain, page};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");

#[test]
fn the_page_is_as_the_table_says() {
    if std::env::var("INSTA_UPDATE").as_deref() == Ok("always") {
        fs::write(PAGE, page()).unwrap();
    }
    let now = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(now == page(), "docs/doctor.md is stale; see the first lines of this test");
}

#[test]
fn every_finding_can_be_explained() {
    for row in TABLE {
        let text = explain(row.id).unwrap();
        assert!(text.contains(row.id) && text.contains("Why:"), "{text}");
        assert!(page().contains(&format!("### `{}`", row.id)));
    }
    let error = explain("no-such-thing").unwrap_err();
    assert!(error.contains("there are: no-sched-ext, preempt-rt"), "{error}");
}
