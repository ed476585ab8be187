//! Problems in rules that can be read: values that contradict each other or have no effect, and
//! rules that set the same key twice.

use std::collections::HashMap;

use super::{
    contradiction::Contradiction,
    refusal::Refusal,
    rule::Rule,
    values::{Class, Pool, Steer},
};
use crate::{
    Settings,
    problem::{Location, Problem, Severity},
};

/// Checks the rules of one file, in the order of the file.
pub(crate) fn check(rules: &[Rule]) -> Vec<Problem> {
    let mut problems: Vec<_> = rules.iter().flat_map(check_rule).collect();
    problems.extend(duplicates(rules));
    problems
}

fn check_rule(rule: &Rule) -> Vec<Problem> {
    let errors = rule.sets.out_of_range().into_iter();
    let errors = errors.chain(contradictions(rule)).chain(ports_without_pool(rule));
    let errors = errors.map(|(key, refusal)| {
        problem(Severity::Error, rule.location_of(key), key, refusal.to_string())
    });
    let warnings = without_effect(rule)
        .into_iter()
        .map(|(key, why)| problem(Severity::Warning, rule.location_of(key), key, why));
    errors.chain(warnings).collect()
}

fn problem(severity: Severity, at: Location, key: &str, message: String) -> Problem {
    Problem { at, severity, field: Some(key.to_string()), message }
}

/// Contradictions within one rule. See `effective` for contradictions between rules.
fn contradictions(rule: &Rule) -> impl Iterator<Item = (&'static str, Refusal)> {
    Contradiction::all(&rule.sets, &Settings::default())
        // If a rule sets only one bound of bursts, a broader rule may set the other. But a rule
        // that sets `exclusive` must itself say which cores are exclusive.
        .filter(|found| {
            found.keys[0] == "exclusive" || found.keys.iter().all(|key| rule.keys.contains_key(key))
        })
        .map(|found| (found.keys[0], found.refusal))
}

/// The ports of a rule that does not say where their packets belong. A rule below it may well place
/// its threads elsewhere.
fn ports_without_pool(rule: &Rule) -> Option<(&'static str, Refusal)> {
    let anywhere = matches!(rule.sets.pool, None | Some(Pool::Any));
    let refusal = || {
        Refusal::new(
            "no pool for their packets",
            "ports together with pool = \"nic-local\", \"remote\" or a list of CPUs",
        )
    };
    (rule.sets.ports.is_some() && anywhere).then(|| ("ports", refusal()))
}

/// Keys that have no effect because of another key in the same rule, and why.
fn without_effect(rule: &Rule) -> Vec<(&'static str, String)> {
    let sets = &rule.sets;
    let mut found = Vec::new();
    if let Some(class) = sets.class.filter(|class| *class != Class::Auto) {
        for (key, set) in [
            ("long-burst", sets.long_burst.is_some()),
            ("short-burst", sets.short_burst.is_some()),
            ("idle-gap", sets.idle_gap.is_some()),
            ("half-life", sets.half_life.is_some()),
            ("granularity", sets.granularity.is_some()),
        ] {
            if set {
                found.push((key, format!("no effect: class = \"{class}\" ignores traffic")));
            }
        }
    }
    let places = matches!(sets.pool, Some(Pool::NicLocal | Pool::Remote)) || sets.ports.is_some();
    if sets.nic.is_some() && sets.pool.is_some() && !places {
        found.push(("nic", "no effect: the pool of this rule does not depend on a NIC".into()));
    }
    if sets.steer == Some(Steer::Off) && matches!(sets.pool, Some(Pool::NicLocal | Pool::Remote)) {
        let why =
            "no effect: with steer = \"off\", threads are not placed near a NIC or away from it";
        found.push(("pool", why.into()));
    }
    found
}

/// Keys that two rules of one file set for the same cgroups and processes.
fn duplicates(rules: &[Rule]) -> Vec<Problem> {
    let mut first: HashMap<_, &Rule> = HashMap::new();
    let mut found = Vec::new();
    for rule in rules {
        for (key, _) in rule.sets.entries() {
            let earlier = *first.entry((&rule.cgroup, &rule.process, key)).or_insert(rule);
            if earlier.position != rule.position {
                let refusal = Refusal::new(
                    format!(
                        "set twice for the same cgroups and processes, first at {}",
                        earlier.location_of(key)
                    ),
                    "once per file",
                );
                let at = rule.location_of(key);
                found.push(problem(Severity::Error, at, key, refusal.to_string()));
            }
        }
    }
    found
}
