//! Warnings about a comparison: everything that differs between the two runs, except the arms.

use std::collections::BTreeSet;
use std::fmt;

use indexmap::IndexMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::figures::{Figure, Modes};
use steer_result::AbResult;

/// A warning about a comparison. Its text says what to do. The JSON has only the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Warning {
    /// Both files have the same samples.
    SameSamples,
    /// A fact about the machine, the workload or the run differs.
    Differs { part: &'static str, field: String, a: String, b: String },
    /// One run lacks something that the other was measured with.
    Lacks { run: char, what: String },
    /// There are too few rounds for any interval.
    TooFew { a: usize, b: usize },
    /// A file has warnings of its own.
    Own { run: char, count: usize },
    /// Arms that should be equal in both runs differ.
    Control { arms: Vec<String>, verdicts: usize, figures: usize },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameSamples => {
                write!(f, "A and B have the same samples: this compares a run with itself")
            }
            Self::Differs { part, field, a, b } => {
                write!(f, "{part}: {field} is {a} in A and {b} in B")
            }
            Self::Lacks { run, what } => write!(f, "{run} lacks {what}"),
            Self::TooFew { a, b } => write!(
                f,
                "{a} rounds in A and {b} in B are too few for intervals: run at least 5 pairs each"
            ),
            Self::Own { run, count } => {
                write!(f, "{run} has {count} warnings of its own: see `steer-bench table`")
            }
            Self::Control { arms, verdicts, figures } => write!(
                f,
                "{verdicts} of {figures} ratios of {} also exclude 1, where chance gives 1 in 20: \
                 something other than the main arm changed between the runs, so changes of this \
                 size say nothing about it",
                arms.join(" and ")
            ),
        }
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// All warnings about a comparison, the most serious first.
pub(super) fn find(a: &AbResult, b: &AbResult, modes: &Modes) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if a.raw == b.raw {
        warnings.push(Warning::SameSamples);
    }
    warnings.extend(control([a, b].map(|result| result.main_arm.as_str()), modes));
    warnings.extend(differences("environment", &a.environment, &b.environment));
    warnings.extend(differences("workload", &a.workload, &b.workload));
    warnings.extend(run_differences(a, b));
    warnings.extend(lacks('A', a, b));
    warnings.extend(lacks('B', b, a));
    let rounds = (a.pairs, b.pairs);
    if modes.values().flat_map(IndexMap::values).all(|figures| figures.values().all(no_ratio)) {
        warnings.push(Warning::TooFew { a: rounds.0, b: rounds.1 });
    }
    let own = [('A', a), ('B', b)].map(|(run, result)| (run, result.warning_lines().len()));
    warnings.extend(
        own.into_iter()
            .filter(|&(_, count)| count > 0)
            .map(|(run, count)| Warning::Own { run, count }),
    );
    warnings
}

fn no_ratio(figure: &Figure) -> bool {
    figure.ratio.is_none()
}

/// The other arms as a control: their programs are the same in both runs, so they should not
/// differ.
fn control(main_arms: [&str; 2], modes: &Modes) -> Option<Warning> {
    let arms = || modes.values().flatten().filter(|(arm, _)| !main_arms.contains(&arm.as_str()));
    let figures = || arms().flat_map(|(_, figures)| figures.values());
    let all = figures().filter(|figure| figure.ratio.is_some()).count();
    let verdicts = figures().filter(|figure| figure.verdict.is_some()).count();
    let names: BTreeSet<&String> = arms().map(|(arm, _)| arm).collect();
    (verdicts * 20 > all).then(|| Warning::Control {
        arms: names.into_iter().cloned().collect(),
        verdicts,
        figures: all,
    })
}

/// Fields of a record that differ, except the start time, which always differs.
fn differences(part: &'static str, a: &impl Serialize, b: &impl Serialize) -> Vec<Warning> {
    let [a, b] = [serde_json::to_value(a), serde_json::to_value(b)].map(Result::unwrap_or_default);
    let fields = |record: &Value| -> Vec<String> {
        record.as_object().into_iter().flat_map(|object| object.keys().cloned()).collect()
    };
    let fields: BTreeSet<String> = fields(&a).into_iter().chain(fields(&b)).collect();
    let differs = |field: String| {
        let (a, b) = (a.get(&field), b.get(&field));
        let known = |value: Option<&Value>| value.cloned().unwrap_or_default();
        (field != "started" && known(a) != known(b)).then(|| Warning::Differs {
            part,
            field: field.replace('_', " "),
            a: plain(a),
            b: plain(b),
        })
    };
    fields.into_iter().filter_map(differs).collect()
}

fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "unknown".into(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Differences between the runs themselves.
fn run_differences(a: &AbResult, b: &AbResult) -> Vec<Warning> {
    let command = |result: &AbResult| format!("ab {}", result.options.arguments().join(" "));
    let pairs = [
        ("main arm", a.main_arm.clone(), b.main_arm.clone()),
        ("rounds", a.pairs.to_string(), b.pairs.to_string()),
        ("command", command(a), command(b)),
    ];
    let differ = pairs.into_iter().filter(|(_, a, b)| a != b);
    differ
        .map(|(field, a, b)| Warning::Differs { part: "run", field: field.into(), a, b })
        .collect()
}

/// Steering modes and arms that only the other run has.
fn lacks(run: char, result: &AbResult, other: &AbResult) -> Vec<Warning> {
    let mut missing = Vec::new();
    for (name, mode) in &other.modes {
        match result.modes.get(name) {
            None => missing.push(format!("the steering mode {name}")),
            Some(own) => {
                let arms = mode.arms.keys().filter(|arm| !own.arms.contains_key(*arm));
                missing.extend(arms.map(|arm| format!("the arm {arm} in {name}")));
            }
        }
    }
    missing.into_iter().map(|what| Warning::Lacks { run, what }).collect()
}
