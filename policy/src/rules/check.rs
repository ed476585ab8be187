//! What is wrong with rules that can be read: values that contradict each other or do nothing,
//! and rules that say the same thing twice.

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

/// Checks one file's rules, given in its order.
pub(crate) fn check(rules: &[Rule]) -> Vec<Problem> {
    let mut problems: Vec<_> = rules.iter().flat_map(check_rule).collect();
    problems.extend(duplicates(rules));
    problems
}

fn check_rule(rule: &Rule) -> Vec<Problem> {
    let errors = rule.sets.out_of_range().into_iter().chain(contradictions(rule));
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

/// What contradicts itself in the rule alone; see `effective` for what several say together.
fn contradictions(rule: &Rule) -> impl Iterator<Item = (&'static str, Refusal)> {
    Contradiction::all(&rule.sets, &Settings::default())
        // Where a rule sets only one bound of bursts a broader one may set the other; but those
        // that set `exclusive` have to say of what.
        .filter(|found| {
            found.keys[0] == "exclusive" || found.keys.iter().all(|key| rule.keys.contains_key(key))
        })
        .map(|found| (found.keys[0], found.refusal))
}

/// Keys that change nothing next to another in the same rule, and why.
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
                found.push((key, format!("no effect: class = \"{class}\" does not go by traffic")));
            }
        }
    }
    if sets.nic.is_some() && matches!(sets.pool, Some(Pool::Any | Pool::Cpus(_))) {
        found.push(("nic", "no effect: the pool of this rule does not refer to a NIC".into()));
    }
    if sets.steer == Some(Steer::Off) && matches!(sets.pool, Some(Pool::NicLocal | Pool::Remote)) {
        let why = "no effect: steer = \"off\" leaves threads where the fair rules put them";
        found.push(("pool", why.into()));
    }
    found
}

/// Keys that two rules of a file set for the same cgroups and processes.
fn duplicates(rules: &[Rule]) -> Vec<Problem> {
    let mut first: HashMap<_, &Rule> = HashMap::new();
    let mut found = Vec::new();
    for rule in rules {
        for (key, _) in rule.sets.entries() {
            let earlier = *first.entry((&rule.cgroup, &rule.process, key)).or_insert(rule);
            if earlier.position != rule.position {
                let refusal = Refusal::new(
                    format!(
                        "set again for the same cgroups and processes, first at {}",
                        earlier.location_of(key)
                    ),
                    "once in a file",
                );
                let at = rule.location_of(key);
                found.push(problem(Severity::Error, at, key, refusal.to_string()));
            }
        }
    }
    found
}
