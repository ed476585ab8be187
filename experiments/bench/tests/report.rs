//! The report as a file: complete, self-contained, and written even if parts of a result are
//! damaged.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

#[path = "../../result/tests/archived/mod.rs"]
mod archived;
#[path = "../../result/tests/measured/mod.rs"]
mod measured;
mod pages;

use std::path::Path;
use std::process::Command;

use archived::DEMO;
use assert_cmd::cargo::cargo_bin;
use pages::{add_topology, demo, page, report};
use serde_json::{Value, json};

/// The label of the plot of what the CPUs did.
const STACK: &str = "aria-label=\"CPU time by category\"";

#[test]
fn what_the_cpus_did_is_drawn_where_it_was_measured() {
    let without = page(measured::remove_cpu);
    for absent in [STACK, "What the CPUs did", "cpus_used", "What the whole host uses"] {
        assert!(!without.contains(absent), "{absent}");
    }
    let page = page(measured::add_cpu);
    assert_eq!(page.matches(STACK).count(), 3, "one in each steering mode");
    for (class, name, percent) in [
        ("data_copy", "data copy", 18),
        ("unclassified", "unclassified", 1),
        ("user", "user space", 40),
    ] {
        let title = format!("class=\"busy-{class}\"><title>{name} {percent}.0 %</title>");
        assert_eq!(page.matches(&title).count(), 9, "{title}");
        let row = format!("{name}</th><td class=\"number\">{percent}.0 %</td>");
        assert_eq!(page.matches(&row).count(), 3, "{row}");
    }
    for cpus in measured::CPUS_USED {
        assert!(page.contains(&format!(">{cpus:.2} CPUs</text>")), "{cpus}");
    }
    assert!(!page.contains("NaN"));
}

#[test]
fn a_round_without_a_breakdown_leaves_its_arms_unknown() {
    let page = page(|result| {
        measured::add_cpu(result);
        edit_samples(result, |sample| {
            if sample["arm"] == "pinned" && sample["round"] == 2 {
                sample["cpu"]["breakdown"] = Value::Null;
            }
        });
    });
    assert_eq!(page.matches(STACK).count(), 3);
    assert_eq!(page.matches("class=\"busy-data_copy\"").count(), 6);
    assert!(page.contains(">unknown</text>"));
}

fn edit_samples(result: &mut Value, edit: impl Fn(&mut Value)) {
    result["raw"].as_array_mut().unwrap().iter_mut().for_each(edit);
}

#[test]
fn the_page_has_all_parts_and_needs_nothing_else() {
    let page = page(|_| {});
    for part in [
        "<!DOCTYPE html>",
        "scx_steer against default and pinned",
        "targets</strong>",
        "TCG emulation",
        "Steering: auto",
        "Steering: hash",
        "Share of RPCs answered within a time",
        "CPU time by class over time",
        "NIC-local",
        "6.18.15+deb13-cloud-amd64",
        "How to read this",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["<script", "<link", "<img", "src=", "href=", "url(", "@import", "http"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""), "a drawing fell off its scale");
}

/// What `report` prints with these flags.
fn printed(flags: &[&str]) -> String {
    let output = report(Path::new(DEMO), flags);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_csv_holds_every_sample() {
    let csv = printed(&["--csv", "-"]);
    let result = demo();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("world,arm,metric,round,value"));
    let arms = result["worlds"]["auto"]["arms"].as_object().unwrap();
    let metrics = arms["default"].as_object().unwrap();
    assert_eq!(lines.count(), result["raw"].as_array().unwrap().len() * metrics.len());
    for (arm, metrics) in arms {
        for (metric, summary) in metrics.as_object().unwrap() {
            for (round, value) in summary["samples"].as_array().unwrap().iter().enumerate() {
                let row = format!("auto,{arm},{metric},{round},");
                let found = csv.lines().find_map(|line| line.strip_prefix(&row)).unwrap();
                assert_eq!(found.parse::<f64>().ok(), value.as_f64(), "{row}");
            }
        }
    }
}

#[test]
fn the_markdown_is_the_table_and_what_is_around_it() {
    let markdown = printed(&["--markdown", "-"]);
    let mut command = Command::new(cargo_bin!("steer-bench"));
    let table = command.args(["table", DEMO, "--markdown"]).output().unwrap().stdout;
    assert!(markdown.contains(&String::from_utf8(table).unwrap()));
    for part in [
        "# scx_steer against default and pinned",
        "targets**;",
        "### Machine",
        "- kernel: 6.18.15+deb13-cloud-amd64",
        "### Workload",
        "- long rate: 40Mbit",
    ] {
        assert!(markdown.contains(part), "{part}");
    }
}

#[test]
fn all_outputs_at_once_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["page.html", "report.md", "samples.csv"].map(|name| folder.path().join(name));
    let [page, markdown, csv] = paths.each_ref().map(|path| path.to_str().unwrap());
    let named = printed(&["--out", page, "--markdown", markdown, "--csv", csv]);
    assert_eq!(named.lines().collect::<Vec<_>>(), [page, markdown, csv]);
    assert!(paths.iter().all(|path| path.is_file()));
}

#[test]
fn equal_arms_are_called_so() {
    let page = page(|result| result["equal"] = json!("scx_steer/pinned"));
    assert!(page.contains("<h1>scx_steer against default and pinned</h1>"));
    assert_eq!(page.matches("scx_steer/pinned compares an arm with itself").count(), 3);
    assert_eq!(page.matches("<td>pinned itself (chance alone)</td>").count(), 3);
}

#[test]
fn bare_metal_needs_no_caveat() {
    let page = page(|result| result["environment"]["accelerator"] = Value::Null);
    assert!(!page.contains("TCG emulation"));
}

#[test]
fn damaged_parts_are_said_and_the_rest_is_shown() {
    let page = page(|result| {
        edit_samples(result, |sample| {
            sample["client"]["rpc"]["histogram"] = json!("AAAA");
            sample["observe"].as_object_mut().unwrap().remove("timeline");
        });
    });
    assert!(page.contains("The latencies cannot be drawn: the latency histogram is damaged"));
    assert!(page.contains("The observer recorded no timeline."));
    assert!(page.contains("throughput_per_core"));
}

#[test]
fn nothing_measured_is_no_crash() {
    let page = page(|result| {
        result["raw"] = json!([]);
        result["worlds"] = json!({});
    });
    assert!(page.contains("compared with nothing"));
}

#[test]
fn names_from_outside_are_escaped() {
    let page = page(|result| {
        result["warnings"] = json!(["<script>alert(1)</script>"]);
        result["command"] = json!(["<b>"]);
    });
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
    assert!(!page.contains("<b>"));
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let output = report(Path::new(DEMO), &["--out", "/no/such/folder/x.html"]);
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write /no/such/folder"));
}

/// The label of the drawing of the machine.
const MACHINE: &str = "aria-label=\"The machine and where threads ran\"";

#[test]
fn the_machine_is_drawn_where_it_was_recorded() {
    assert!(!page(|_| {}).contains(MACHINE));
    let page = page(add_topology);
    assert_eq!(page.matches(MACHINE).count(), 3, "one in each steering mode");
    for part in [
        "NUMA node 1<tspan class=\"note\">  the NIC's</tspan>",
        ">L3 cache</text>",
        ">core 2</text>",
        ">eth0</text>",
        "node 0: CPUs 0-1; node 1: CPUs 2-3. The NIC eth0 is on node 1.",
        "Not bound to one CPU: queue 3 (CPUs 0-3).",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let mode = page.split("Steering: ").find(|mode| mode.starts_with("hash")).unwrap();
    let drawing = mode.split(MACHINE).nth(1).unwrap().split("</svg>").next().unwrap();
    assert!(drawing.contains(">0,2</text>") && drawing.contains(">1,3</text>"), "{drawing}");
    // Four CPUs under three arms.
    assert_eq!(drawing.matches("class=\"share long\"").count(), 12);
    let pinned = drawing.split("pinned: long-flow threads used ").nth(1).unwrap();
    let pinned = pinned.split_once(". pinned: RPC threads used ").unwrap();
    assert!(pinned.0.contains("CPU 2") && !pinned.0.contains("CPU 0"), "{}", pinned.0);
    assert!(pinned.1.contains("CPU 0"), "{}", pinned.1);
}

#[test]
fn each_nic_hangs_on_its_own_node() {
    let page = page(|result| {
        add_topology(result);
        let queue = json!({"queue": 7, "irq": 40, "cpus": "0"});
        let other = json!({"name": "eth1", "node": 0, "queues": {"hash": [queue]}});
        result["topology"]["other_nics"] = json!([other]);
    });
    assert!(page.contains("The NIC eth0 is on node 1. The NIC eth1 is on node 0."));
    let machines = page.split(MACHINE).skip(1);
    let machines: Vec<_> = machines.filter_map(|rest| rest.split("</svg>").next()).collect();
    assert!(machines.iter().all(|drawing| drawing.matches("class=\"cable\"").count() == 2));
    assert_eq!(machines.iter().filter(|drawing| drawing.contains(">7</text>")).count(), 1);
}

#[test]
fn a_nic_of_unknown_place_hangs_on_no_node() {
    let page = page(|result| {
        add_topology(result);
        result["environment"]["nic_node"] = Value::Null;
        result["topology"]["queues"] = json!({});
    });
    assert!(page.contains("NIC, node unknown") && !page.contains("class=\"cable\""));
    assert!(page.contains("queues have no interrupts of their own, as far as is known"));
}
