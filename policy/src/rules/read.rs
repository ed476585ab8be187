//! Parses the text of a policy file into rules. Continues after an error, to report all errors at
//! once.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    cgroup::CgroupPattern,
    process::ProcessPattern,
    refusal::{Refusal, quote, similar},
    rule::Rule,
    sets::Sets,
    text::Text,
    values::Given,
};
use crate::{
    files::Source,
    problem::{Position, Problem},
};

/// The keys that say what a rule applies to.
const TARGET_KEYS: [&str; 2] = ["cgroup", "process"];
const RULES: &str = "[[rule]] tables";

/// The rules of `source`, in its order, and its problems. Rules with errors are left out.
pub(crate) fn read(source: &Source) -> (Vec<Rule>, Vec<Problem>) {
    let mut text = Text::new(source);
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    for error in &errors {
        text.syntax_error(error);
    }
    let garbled: BTreeSet<u32> =
        text.problems.iter().filter_map(|problem| Some(problem.at.position?.line)).collect();
    let mut rules = Vec::new();
    for (key, value) in in_order(table.get_ref()) {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("rule", DeValue::Array(elements)) => {
                rules.extend(elements.iter().filter_map(|element| rule(&mut text, element)));
            }
            ("rule", _) => {
                let given = format!("{} is not a list of rules", quote(text.slice(value.span())));
                let refusal = Refusal::new(given, RULES).meant(Some("[[rule]]".into()));
                text.error(key.span().start, Some("rule"), refusal);
            }
            // After a broken [[rule]] line, the keys below it seem to stand outside a rule.
            _ if !errors.is_empty() => {}
            (name, _) => text.error(key.span().start, Some(name), stray(name)),
        }
    }
    let mut problems = text.problems;
    // Further errors on a line that is not TOML only distract.
    let found = problems.split_off(errors.len()).into_iter();
    problems.extend(found.filter(|p| p.at.position.is_none_or(|at| !garbled.contains(&at.line))));
    (rules, problems)
}

/// The entries of a table, in the order of the file.
fn in_order<'t, 'a>(
    table: &'t DeTable<'a>,
) -> Vec<(&'t Spanned<Cow<'a, str>>, &'t Spanned<DeValue<'a>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Why a key outside a rule is refused.
fn stray(name: &str) -> Refusal {
    let meant = if TARGET_KEYS.iter().chain(Sets::KEYS).any(|key| *key == name) {
        Some("to write [[rule]] above it".into())
    } else {
        similar(name, ["rule"]).map(|_| "[[rule]]".into())
    };
    Refusal::new("unknown key outside a rule", RULES).meant(meant)
}

/// A rule while its keys are read.
#[derive(Default)]
struct Draft {
    cgroup: Option<CgroupPattern>,
    process: Option<ProcessPattern>,
    sets: Sets,
    keys: BTreeMap<&'static str, Position>,
}

fn rule(text: &mut Text<'_>, element: &Spanned<DeValue<'_>>) -> Option<Rule> {
    let start = element.span().start;
    let DeValue::Table(table) = element.get_ref() else {
        let given = format!("{} is not a table", quote(text.slice(element.span())));
        text.error(start, Some("rule"), Refusal::new(given, RULES));
        return None;
    };
    let before = text.problems.len();
    let mut draft = Draft::default();
    for (key, value) in in_order(table) {
        let name = key.get_ref().as_ref();
        let given = Given { value: value.get_ref(), text: text.slice(value.span()) };
        let known = TARGET_KEYS.into_iter().chain(Sets::KEYS.iter().copied());
        match known.clone().find(|known| *known == name) {
            Some(known) => match draft.read(known, &given) {
                Ok(()) => drop(draft.keys.insert(known, text.position(key.span().start))),
                Err(refusal) => text.error(value.span().start, Some(name), refusal),
            },
            None => {
                let allowed = known.clone().collect::<Vec<_>>().join(", ");
                let meant = similar(name, known).map(|key| format!("\"{key}\""));
                let refusal = Refusal::new("unknown key", allowed).meant(meant);
                text.error(key.span().start, Some(name), refusal);
            }
        }
    }
    if !table.contains_key("cgroup") {
        let refusal = Refusal::new("missing", "a pattern of cgroup paths in every rule");
        text.error(start, Some("cgroup"), refusal);
    }
    if table.keys().all(|key| TARGET_KEYS.contains(&key.get_ref().as_ref())) {
        let refusal = Refusal::new("the rule sets nothing", Sets::KEYS.join(", "));
        text.error(start, None, refusal);
    }
    if text.problems.len() > before {
        return None;
    }
    Some(Rule {
        cgroup: draft.cgroup?,
        process: draft.process,
        sets: draft.sets,
        file: text.name().to_string(),
        position: text.position(start),
        keys: draft.keys,
    })
}

impl Draft {
    fn read(&mut self, key: &str, given: &Given<'_>) -> Result<(), Refusal> {
        match key {
            "cgroup" => {
                let pattern = given.string("a pattern of cgroup paths")?;
                self.cgroup = Some(CgroupPattern::parse(pattern)?);
            }
            "process" => {
                let pattern = given.string("a process name, or its start followed by *")?;
                self.process = Some(ProcessPattern::parse(pattern)?);
            }
            key => {
                if let Some(read) = self.sets.read(key, given) {
                    read?;
                }
            }
        }
        Ok(())
    }
}
