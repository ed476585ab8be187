//! From files and a cgroup tree to the table that the kernel side gets.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod common;

use std::fmt::Write;

use common::effective;
use steer_policy::{CgroupPolicy, Effective, MAX_CGROUPS, MAX_POLICIES, Sets};

const HOST: [&str; 13] = [
    "",
    "init.scope",
    "system.slice",
    "system.slice/nginx.service",
    "system.slice/redis-server.service",
    "system.slice/redis-server.service/worker",
    "system.slice/backup.service",
    "user.slice",
    "user.slice/user-1000.slice",
    "user.slice/user-1000.slice/session-1.scope",
    "kubepods.slice",
    "kubepods.slice/kubepods-burstable.slice",
    "kubepods.slice/kubepods-burstable.slice/pod7/cri-1.scope",
];

/// The table as text.
fn table(effective: &Effective, paths: &[&str]) -> String {
    let mut out = String::new();
    for (id, CgroupPolicy { sets, reserve_rule, processes, .. }) in
        effective.policies().iter().enumerate()
    {
        writeln!(out, "policy {id}: {}", entries(sets)).unwrap();
        if let Some(rule) = reserve_rule {
            let rule = &effective.set().rules()[*rule as usize];
            writeln!(out, "    cores shared by all under {}", rule.location()).unwrap();
        }
        for process in processes {
            writeln!(out, "    {} → policy {}", process.pattern, process.policy).unwrap();
        }
    }
    for (id, path) in (1..).zip(paths) {
        let policy = effective.cgroups().get(&id).copied().unwrap_or_default();
        writeln!(out, "/{path} → policy {policy}").unwrap();
    }
    out
}

fn entries(sets: &Sets) -> String {
    sets.entries().map(|(key, value)| format!("{key}={value} ")).collect()
}

#[test]
fn rules_for_a_host_make_its_table() {
    let web = r#"
        [[rule]]
        cgroup = "system.slice/*"
        latency = "normal"
        half-life = "200ms"

        [[rule]]
        cgroup = "system.slice/redis-server.service"
        class = "short"
        reserve = 2
        exclusive = true

        [[rule]]
        cgroup = "system.slice/nginx.service"
        process = "nginx"
        long-burst = "256KiB"

        [[rule]]
        cgroup = "system.slice/nginx.service"
        process = "ngi*"
        latency = "low"

        [[rule]]
        cgroup = "system.slice/redis-server.service/worker"
        class = "none"
    "#;
    let users = r#"
        [[rule]]
        cgroup = "/"
        steer = "follow"

        [[rule]]
        cgroup = "user.slice/**"
        class = "none"
        steer = "off"

        [[rule]]
        cgroup = "kubepods.slice/**/cri-*.scope"
        granularity = "cgroup"
        pool = "0-3,8"
        nic = "eth1"

        [[rule]]
        cgroup = "kubepods.slice/kubepods-{burstable,besteffort}.slice"
        pool = "remote"
        idle-gap = "2ms"
    "#;
    let effective = effective(&[web, users], &HOST).unwrap();
    insta::assert_snapshot!(table(&effective, &HOST));
}

#[test]
fn the_order_of_specificity_is_as_documented() {
    // Each is more specific than the next, for the cgroup a/b/c and the process "nginx".
    let rules = [
        ("a/b/c", Some("nginx")),
        ("a/b/c", Some("ngin*")),
        ("a/b/c", Some("n*")),
        ("a/b/c", None),
        ("a/b/*", None),
        ("a/*/c", None),
        ("a/b", None),
        ("a/**/c", None),
        ("**/b/c", None),
        ("a/*/*", None),
        ("a/*", None),
        ("a/**", None),
        ("*/b", None),
        ("a", None),
        ("**/c", None),
        ("*/*/[c]", None),
        ("*/*/*", None),
        ("**", None),
        ("/", None),
    ];
    // Written in reverse, so that the order of the rules works against them.
    let text: String = rules
        .iter()
        .map(|(cgroup, process)| {
            let process =
                process.map_or_else(String::new, |name| format!("process = \"{name}\"\n"));
            format!("[[rule]]\ncgroup = \"{cgroup}\"\n{process}reserve = 1\n")
        })
        .collect();
    let effective = effective(&[&text], &["a/b/c"]).unwrap();
    let order: Vec<_> = effective
        .rules_for("a/b/c")
        .iter()
        .map(|id| &effective.set().rules()[*id as usize])
        .map(|rule| (rule.cgroup.to_string(), rule.process.as_ref().map(ToString::to_string)))
        .collect();
    let expected: Vec<_> = rules
        .iter()
        .map(|(cgroup, process)| (cgroup.to_string(), process.map(str::to_string)))
        .collect();
    assert_eq!(order, expected);
}

#[test]
fn of_equally_specific_rules_the_later_wins() {
    let rule = |cores| format!("[[rule]]\ncgroup = \"a\"\nreserve = {cores}\n");
    let effective = effective(&[&rule(1), &rule(2)], &["a"]).unwrap();
    let explanation = effective.explain("a", None);
    let reserve = explanation.values.iter().find(|value| value.key == "reserve").unwrap();
    assert_eq!(reserve.value.as_deref(), Some("2"));
    assert_eq!(reserve.from.as_ref().unwrap().at.to_string(), "2.toml:3:1");
    assert_eq!(reserve.outvoted[0].from.at.to_string(), "1.toml:3:1");
}

#[test]
fn a_cgroup_that_appears_moves_or_vanishes_is_followed() {
    let rules = "[[rule]]\ncgroup = \"a\"\nclass = \"long\"\n";
    let mut effective = effective(&[rules], &["", "a"]).unwrap();
    assert_eq!(effective.add(7, "a/new").unwrap(), 1);
    assert_eq!(effective.cgroups()[&7], 1);
    assert_eq!(effective.add(7, "b/new").unwrap(), 0);
    assert!(!effective.cgroups().contains_key(&7));
    effective.remove(2);
    assert!(effective.cgroups().is_empty());
}

#[test]
fn a_cgroup_where_rules_contradict_each_other_gets_no_place() {
    // No path is made from patterns with braces, so only an existing cgroup shows the mistake.
    let rules = "[[rule]]\ncgroup = \"{a,b}/*\"\nlong-burst = \"32KiB\"\n\n\
                 [[rule]]\ncgroup = \"*/{c,d}\"\nshort-burst = \"40KiB\"\n";
    let mut live = effective(&[rules], &[""]).unwrap();
    let problem = live.add(7, "a/c").unwrap_err();
    assert!(problem.to_string().contains("in the cgroup \"a/c\": short-burst 40KiB is not below"));
    assert!(!live.cgroups().contains_key(&7));
    let paths = ["a/c", "a/d", "b/c"];
    let problems = effective(&[rules], &paths).unwrap_err();
    assert_eq!(problems.as_slice().len(), 1, "said once, not for each cgroup:\n{problems}");
}

#[test]
fn a_table_beyond_its_bounds_is_refused() {
    let rule = |n| format!("[[rule]]\ncgroup = \"c{n}\"\nidle-gap = \"{}us\"\n", n + 1);
    let rules: String = (0..MAX_POLICIES).map(rule).collect();
    let paths: Vec<_> = (0..MAX_POLICIES).map(|n| format!("c{n}")).collect();
    assert!(effective(&[&rules], &paths[1..]).is_ok());
    let problems = effective(&[&rules], &paths).unwrap_err();
    assert!(problems.to_string().contains("more than 1024 different policies"), "{problems}");

    let all = "[[rule]]\ncgroup = \"**\"\nclass = \"none\"\n";
    let paths: Vec<_> = (0..=MAX_CGROUPS).map(|n| format!("c{n}")).collect();
    assert!(effective(&[all], &paths[1..]).is_ok());
    let problems = effective(&[all], &paths).unwrap_err();
    assert!(problems.to_string().contains("more than 65536 cgroups"), "{problems}");
}

#[test]
fn too_many_rules_are_refused() {
    let rules = |count| -> String {
        (0..count).map(|n| format!("[[rule]]\ncgroup = \"c{n}\"\nclass = \"long\"\n")).collect()
    };
    assert!(effective(&[&rules(4096)], &[""]).is_ok());
    let problems = effective(&[&rules(4096), &rules(1)], &[""]).unwrap_err();
    assert_eq!(problems.to_string(), "2.toml:1:1: 4097 rules in all files; allowed: 4096");
}
