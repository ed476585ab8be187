//! The report of an experiment across its points: the figure, what papers state, and messages about
//! what is missing. The points are made from the archived demo.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "../../result/tests/archived/mod.rs"]
mod archived;
mod pages;

use std::fs;
use std::path::Path;

use pages::{experiment, page_of, report};
use serde_json::json;

/// Three of the four points of `incast`; the lines fall by a tenth and by a half.
const INCAST: [(&str, &str, f64); 3] = [
    ("1-flow", "--long-flows=1", 1.0),
    ("4-flows", "--long-flows=4", 0.9),
    ("8-flows", "--long-flows=8", 0.5),
];

/// The page of an experiment with these points.
fn page(name: &str, points: &[(&str, &str, f64)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    experiment(folder.path(), name, points);
    page_of(&folder.path().join(name))
}

#[test]
fn the_figure_has_a_line_per_arm_and_what_the_paper_states() {
    let page = page("incast", &INCAST);
    for part in [
        "<h1>What do long flows lose as more of them share the NIC's cores?</h1>",
        "aria-label=\"throughput_per_core by long flows, MB/cpu-s, more is better\"",
        "<title>paper at 8: 0.81</title>",
        "~19% drop with 8 flows",
        "0.81 times the value at 1",
        "host-network-stack paper, §3.3, fig 6(a)",
        "TCG emulation",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for arm in ["default", "scx_steer", "pinned"] {
        for (at, ratio) in [("1", "1.00</title>"), ("4", "0.90 ["), ("8", "0.50 [")] {
            let title = format!("<title>{arm} at {at}: {ratio}");
            assert!(page.contains(&title), "{title}");
        }
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""), "a drawing fell off its scale");
    for outside in ["<script", "<link", "<img", "src=", "href=", "url(", "@import", "http"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_paper_is_never_on_the_axis_of_absolute_values() {
    let page = page(
        "one-to-one",
        &[("1-flow", "--long-flows=1", 1.0), ("4-flows", "--long-flows=4", 0.9)],
    );
    let plots: Vec<&str> =
        page.split("<svg").skip(1).map(|plot| plot.split("</svg>").next().unwrap()).collect();
    for plot in &plots {
        let relative = plot.contains("times the arm's own value at 1");
        assert!(relative || !plot.contains("class=\"stated\""), "{plot}");
    }
    let of_core = plots
        .iter()
        .find(|p| p.contains("throughput_per_core by") && p.contains("class=\"stated\""))
        .unwrap();
    // The paper's column comes after ours.
    assert!(of_core.find(">4</text>").unwrap() < of_core.find(">24</text>").unwrap());
    assert!(page.contains("15 Gb/s per core; 0.36 times the value at 1"));
}

#[test]
fn what_is_missing_or_differs_is_said() {
    let folder = tempfile::tempdir().unwrap();
    experiment(folder.path(), "incast", &INCAST);
    let path = folder.path().join("incast/4-flows/result.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("6.18.15+deb13-cloud-amd64", "7.2.13")).unwrap();
    let page = page_of(&folder.path().join("incast"));
    assert!(page.contains("not measured: 2-flows"));
    assert!(page.contains("1-flow was measured on 6.18.15+deb13-cloud-amd64, 4-flows on 7.2.13"));
    assert!(page.contains("<dt>kernel</dt><dd>varies</dd>"));
    // What all points have in common appears once.
    let sampled = "all points: CPU figures of 45 of 45 samples: sampled by the clock";
    let said = ["sampled by the clock", sampled].map(|text| page.matches(text).count());
    assert_eq!(said, [1, 1]);
}

#[test]
fn one_point_and_names_for_points_are_drawn_as_well() {
    let page = page("loss", &[("1-in-67", "--setup-peer=tc", 1.0)]);
    assert!(page.contains("throughput_per_core by point"));
    assert!(page.contains("0.76 times the value at none"));
}

#[test]
fn markdown_and_csv_hold_all_points() {
    let folder = tempfile::tempdir().unwrap();
    experiment(folder.path(), "incast", &INCAST);
    let path = folder.path().join("incast");
    let printed = |flag| {
        let output = report(&path, &[flag, "-"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let markdown = printed("--markdown");
    for part in [
        "# What do long flows lose",
        "### hash steering: medians with intervals by long flows",
        "| throughput_per_core | MB/cpu-s | 8 ",
        "### What papers state",
        "- at 8: 0.81 times the value at 1 (host-network-stack paper, §3.3, fig 6(a): “",
        "- not measured: 2-flows",
        "- kernel: 6.18.15",
    ] {
        assert!(markdown.contains(part), "{part}\n{markdown}");
    }
    let csv = printed("--csv");
    assert_eq!(csv.lines().next(), Some("point,world,arm,metric,round,value"));
    let demo = report(Path::new(archived::DEMO), &["--csv", "-"]);
    let rows = String::from_utf8(demo.stdout).unwrap().lines().count() - 1;
    for (point, ..) in INCAST {
        assert_eq!(csv.lines().filter(|row| row.starts_with(&format!("{point},"))).count(), rows);
    }
}

#[test]
fn what_is_no_experiment_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let complaint = |path: &Path| {
        let output = report(path, &["--markdown", "-"]);
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = complaint(folder.path());
    assert!(
        said.contains("is not an experiment of `steer-bench run`: name DIR/EXPERIMENT"),
        "{said}"
    );
    experiment(folder.path(), "incast", &[]);
    let said = complaint(&folder.path().join("incast"));
    assert!(said.contains("no point of incast has a result"), "{said}");
    let point = folder.path().join("incast/1-flow");
    fs::create_dir_all(&point).unwrap();
    fs::write(point.join("result.json"), json!({"version": 9}).to_string()).unwrap();
    let said = complaint(&folder.path().join("incast"));
    assert!(said.contains("1-flow/result.json") && said.contains("format version 9"), "{said}");
}
