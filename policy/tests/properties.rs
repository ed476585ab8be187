//! Properties of any policy: reading never panics; matching, merging and explaining agree with a
//! simple description of what they should do. PROPTEST_CASES sets the number of cases.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod common;

use std::fmt::Write;

use common::{effective, files};
use proptest::{collection::vec, option, prelude::*, sample::select};
use steer_policy::{PolicySet, Sets};

/// Pieces of policy files, good and bad, to be put together at random.
const PIECES: [&str; 48] = [
    "[[rule]]\n",
    "[[rule]]",
    "[rule]\n",
    "[[rules]]\n",
    "cgroup",
    "process",
    "class",
    "long-burst",
    "short-burst",
    "idle-gap",
    "half-life",
    "granularity",
    "pool",
    "nic",
    "exclusive",
    "reserve",
    "steer",
    "latency",
    "clas",
    " = ",
    "=",
    "\n",
    "\"",
    "'",
    "\"\"\"",
    "\"a/b\"",
    "\"**/x*\"",
    "\"a/[b\"",
    "\"{a,b}\"",
    "\"long\"",
    "\"0-3\"",
    "\"5-\"",
    "\"64KiB\"",
    "\"1ms\"",
    "\"99999999999999999999s\"",
    "65536",
    "-1",
    "0x10",
    "1e400",
    "1979-05-27",
    "true",
    "[1, 2]",
    "{ a = 1 }",
    "# comment\n",
    "\\",
    "é",
    "\u{0}",
    ".",
];

/// A name in a cgroup path. A cgroup cannot be called `.` or `..`.
fn name() -> impl Strategy<Value = String> {
    "[ab.]{0,2}[ab]|[ab][ab.]{0,2}"
}

/// A name with wildcards.
fn glob() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => select(vec!["a", "b", "a.", "b."]).prop_map(String::from),
        2 => Just("*".to_string()),
        1 => Just("?".to_string()),
        1 => select(vec!["[ab]", "[!a]", "[a-b]", "{a,b}", "{ab,.}"]).prop_map(String::from),
    ];
    vec(piece, 1..4).prop_map(|mut pieces| {
        // `**` has another meaning.
        pieces.dedup_by(|a, b| a == "*" && b == "*");
        pieces.concat()
    })
}

/// A pattern of cgroup paths.
fn pattern() -> impl Strategy<Value = String> {
    let component = prop_oneof![3 => name(), 3 => glob(), 2 => Just("**".to_string())];
    vec(component, 0..5).prop_map(|mut components| {
        components.dedup_by(|a, b| a == "**" && b == "**");
        format!("/{}", components.join("/"))
    })
}

fn path() -> impl Strategy<Value = String> {
    vec(name(), 0..6).prop_map(|names| names.join("/"))
}

/// A rule as text.
fn rule() -> impl Strategy<Value = String> {
    let process = option::of(select(vec!["n*", "ng*", "nginx", "a*", "redis"]));
    let sets = vec(
        select(vec![
            "class = \"long\"",
            "class = \"none\"",
            "long-burst = \"1MiB\"",
            "half-life = \"1s\"",
            "granularity = \"cgroup\"",
            "pool = \"0-3\"",
            "nic = \"eth0\"",
            "reserve = 1",
            "reserve = 2",
            "steer = \"off\"",
            "latency = \"low\"",
        ]),
        1..3,
    );
    (pattern(), process, sets).prop_map(|(cgroup, process, mut sets)| {
        let key = |set: &&str| set.split(' ').next().map(str::to_string);
        sets.sort_unstable();
        sets.dedup_by_key(|set| key(set));
        let mut text = format!("[[rule]]\ncgroup = \"{cgroup}\"\n");
        if let Some(process) = process {
            writeln!(text, "process = \"{process}\"").unwrap();
        }
        text + &sets.join("\n") + "\n\n"
    })
}

/// Whether `glob` matches all of `name`, both without slashes.
fn glob_matches(glob: &[char], name: &[char]) -> bool {
    match glob {
        [] => name.is_empty(),
        ['*', rest @ ..] => (0..=name.len()).any(|skip| glob_matches(rest, &name[skip..])),
        ['?', rest @ ..] => !name.is_empty() && glob_matches(rest, &name[1..]),
        ['[', rest @ ..] => {
            let end = rest.iter().position(|c| *c == ']').unwrap();
            let (negated, class) = match &rest[..end] {
                ['!', class @ ..] => (true, class),
                class => (false, class),
            };
            let holds = |c: &char| match class {
                [from, '-', to] => (from..=to).contains(&c),
                _ => class.contains(c),
            };
            name.first().is_some_and(|c| holds(c) != negated)
                && glob_matches(&rest[end + 1..], &name[1..])
        }
        ['{', rest @ ..] => {
            let end = rest.iter().position(|c| *c == '}').unwrap();
            rest[..end].split(|c| *c == ',').any(|alternative| {
                name.strip_prefix(alternative)
                    .is_some_and(|name| glob_matches(&rest[end + 1..], name))
            })
        }
        [c, rest @ ..] => name.first() == Some(c) && glob_matches(rest, &name[1..]),
    }
}

/// Whether `pattern` matches exactly the cgroup with these names.
fn pattern_matches(pattern: &[&str], names: &[&str]) -> bool {
    match pattern {
        [] => names.is_empty(),
        ["**"] => !names.is_empty(),
        ["**", rest @ ..] => (0..=names.len()).any(|skip| pattern_matches(rest, &names[skip..])),
        [glob, rest @ ..] => {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            names.first().is_some_and(|name| glob_matches(&chars(glob), &chars(name)))
                && pattern_matches(rest, &names[1..])
        }
    }
}

fn split(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty()).collect()
}

/// The set of `rules`, unless they set a key twice for the same cgroups and processes.
fn readable(rules: &[String]) -> Option<PolicySet> {
    let texts: Vec<_> = rules.iter().map(String::as_str).collect();
    PolicySet::read(&files(&texts)).ok()
}

proptest! {
    #[test]
    fn reading_anything_never_panics(text in any::<String>()) {
        let _ = effective(&[&text], &["a/b"]);
    }

    #[test]
    fn reading_what_resembles_a_policy_never_panics(pieces in vec(select(&PIECES[..]), 0..60)) {
        let _ = effective(&[&pieces.concat()], &["a/b"]);
    }

    #[test]
    fn reading_a_damaged_policy_never_panics(
        rules in vec(rule(), 1..4),
        at in any::<prop::sample::Index>(),
        length in 0usize..8,
        garbage in "\\PC{0,6}",
    ) {
        let mut chars: Vec<char> = rules.concat().chars().collect();
        let at = at.index(chars.len());
        let end = chars.len().min(at + length);
        chars.splice(at..end, garbage.chars());
        let text: String = chars.into_iter().collect();
        if let Err(problems) = effective(&[&text], &["a/b"]) {
            for problem in problems.as_slice() {
                let position = problem.at.position.unwrap();
                let line = text.split('\n').nth(position.line as usize - 1).unwrap();
                prop_assert!(position.column as usize <= line.chars().count() + 1);
            }
        }
    }

    #[test]
    fn a_pattern_of_any_text_is_refused_or_reads_back(pattern in "[ab*?!/.{},\\[\\]\\\\-]{1,20}") {
        let rule = |pattern: &str| format!("[[rule]]\ncgroup = '{pattern}'\nclass = \"long\"\n");
        if let Some(set) = readable(&[rule(&pattern)]) {
            let shown = set.rules()[0].cgroup.to_string();
            let again = readable(&[rule(&shown)]).unwrap();
            prop_assert_eq!(&again.rules()[0].cgroup, &set.rules()[0].cgroup);
        }
    }

    #[test]
    fn matching_agrees_with_its_description(
        rules in vec(rule(), 1..12),
        paths in vec(path(), 1..12),
    ) {
        let texts: Vec<_> = rules.iter().map(String::as_str).collect();
        let effective = effective(&texts, &paths).unwrap();
        for path in &paths {
            let names = split(path);
            let expected: Vec<_> = (0..)
                .zip(effective.set().rules())
                .filter(|(_, rule)| {
                    let pattern = rule.cgroup.to_string();
                    (0..=names.len())
                        .any(|depth| pattern_matches(&split(&pattern), &names[..depth]))
                })
                .map(|(id, _): (u32, _)| id)
                .collect();
            prop_assert_eq!(effective.rules_for(path), expected, "{}", path);
        }
    }

    #[test]
    fn the_table_and_the_explanation_agree(
        rules in vec(rule(), 1..10),
        paths in vec(path(), 1..6),
        process in select(vec!["nginx", "ng", "ngx", "n", "redis", "redis2", "apache", "x", ""]),
    ) {
        let texts: Vec<_> = rules.iter().map(String::as_str).collect();
        let effective = effective(&texts, &paths).unwrap();
        for (id, path) in (1..).zip(&paths) {
            // A path may occur twice: the cgroups still differ by id.
            let policy = effective.cgroups().get(&id).copied().unwrap_or_default();
            let all = &effective.policies()[policy as usize];
            let alternative = all.processes.iter().find(|other| other.pattern.matches(process));
            let held = alternative.map_or(all, |other| &effective.policies()[other.policy as usize]);
            let explained: Vec<_> = effective
                .explain(path, Some(process))
                .values
                .into_iter()
                .filter(|value| value.from.is_some())
                .map(|value| (value.key, value.value.unwrap()))
                .collect();
            prop_assert_eq!(held.sets.entries().collect::<Vec<_>>(), explained);
        }
    }

    #[test]
    fn a_cgroup_gets_the_same_policy_early_or_late(
        rules in vec(rule(), 1..10),
        paths in vec(path(), 1..10),
    ) {
        let texts: Vec<_> = rules.iter().map(String::as_str).collect();
        let at_once = effective(&texts, &paths).unwrap();
        let mut one_by_one = effective(&texts, &[""; 0]).unwrap();
        for (id, path) in (1..).zip(&paths) {
            one_by_one.add(id, path).unwrap();
        }
        let sets = |effective: &steer_policy::Effective, id| -> Sets {
            let policy = effective.cgroups().get(&id).copied().unwrap_or_default();
            effective.policies()[policy as usize].sets.clone()
        };
        for id in 1..=paths.len() as u64 {
            prop_assert_eq!(sets(&at_once, id), sets(&one_by_one, id));
        }
    }
}
