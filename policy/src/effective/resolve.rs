//! Merges the rules that match a cgroup into its settings.

use crate::{
    Settings,
    problem::{Location, Problem, Severity},
    rules::{Contradiction, ProcessPattern, Rule, Sets},
};

use super::matcher::RuleId;

/// The most process patterns that may apply to one cgroup: the kernel side tries them one by one.
pub const MAX_PROCESSES: usize = 8;

/// The merged settings of a cgroup, before it gets an entry in the table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Resolved {
    /// For all processes except those below.
    pub(super) all: Merged,
    /// For processes that match a pattern. The first match counts.
    pub(super) processes: Vec<(ProcessPattern, Merged)>,
}

/// Several rules merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Merged {
    pub(super) sets: Sets,
    /// The rule that `reserve` comes from.
    pub(super) reserve_rule: Option<RuleId>,
}

/// The rules of a set that match a cgroup, most specific first.
#[derive(Clone, Copy)]
pub(super) struct Matched<'a> {
    /// All rules of the set.
    pub(super) all: &'a [Rule],
    pub(super) ids: &'a [RuleId],
}

impl<'a> Matched<'a> {
    /// The rules, with their numbers.
    pub(super) fn rules(self) -> impl Iterator<Item = (RuleId, &'a Rule)> {
        self.ids.iter().filter_map(move |&id| Some((id, self.all.get(id as usize)?)))
    }

    /// Merges the rules for the cgroup `path`.
    ///
    /// # Errors
    /// The rules contradict each other, or there are too many process patterns.
    pub(super) fn resolve(self, settings: &Settings, path: &str) -> Result<Resolved, Problem> {
        let all = self.merge(None, settings, path)?;
        let patterns = self.process_patterns();
        if let Some(last) = patterns.get(MAX_PROCESSES) {
            let rule = self.rules().find(|(_, rule)| rule.process.as_ref() == Some(*last));
            let message = format!(
                "{} different process patterns apply to the cgroup {}; allowed: {MAX_PROCESSES}",
                patterns.len(),
                shown(path)
            );
            let at = rule.map_or_else(|| nowhere(path), |(_, rule)| rule.location_of("process"));
            return Err(error(at, "process", message));
        }
        let mut processes = Vec::new();
        for pattern in patterns {
            processes.push((pattern.clone(), self.merge(Some(pattern), settings, path)?));
        }
        Ok(Resolved { all, processes })
    }

    /// The process patterns, most specific first, without duplicates. Two patterns either have no
    /// name in common, or one covers the other. So the first pattern that matches a name is
    /// covered by all other patterns that match it.
    fn process_patterns(self) -> Vec<&'a ProcessPattern> {
        let mut patterns: Vec<_> = Vec::new();
        for pattern in self.rules().filter_map(|(_, rule)| rule.process.as_ref()) {
            if !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.specificity()));
        patterns
    }

    /// The rules that apply to every process that matches `process`, or to all processes if it is
    /// `None`.
    fn applying(
        self,
        process: Option<&ProcessPattern>,
    ) -> impl Iterator<Item = (RuleId, &'a Rule)> {
        self.rules().filter(move |(_, rule)| match (&rule.process, process) {
            (None, _) => true,
            (Some(own), Some(process)) => own.covers(process),
            (Some(_), None) => false,
        })
    }

    /// Merges the rules for `process`: each setting comes from the most specific rule that sets it.
    fn merge(
        self,
        process: Option<&ProcessPattern>,
        settings: &Settings,
        path: &str,
    ) -> Result<Merged, Problem> {
        let mut merged = Merged::default();
        for (id, rule) in self.applying(process) {
            if merged.sets.reserve.is_none() && rule.sets.reserve.is_some() {
                merged.reserve_rule = Some(id);
            }
            merged.sets.fill_from(&rule.sets);
        }
        match Contradiction::all(&merged.sets, settings).next() {
            None => Ok(merged),
            Some(found) => Err(self.blame(process, &found, path)),
        }
    }

    /// Reports rules that contradict each other in the cgroup `path`. The message blames the most
    /// specific rule, because the others may be right elsewhere.
    fn blame(self, process: Option<&ProcessPattern>, found: &Contradiction, path: &str) -> Problem {
        let setter = |key: &'static str| {
            let (id, rule) =
                self.applying(process).find(|(_, rule)| rule.keys.contains_key(key))?;
            Some((id, key, rule.location_of(key)))
        };
        let setters: Vec<_> = found.keys.iter().filter_map(|key| setter(key)).collect();
        let first = setters.iter().min_by_key(|(id, ..)| *id);
        let (key, at) =
            first.map_or_else(|| (found.keys[0], nowhere(path)), |(_, key, at)| (*key, at.clone()));
        let mut message = format!("in the cgroup {}: {}", shown(path), found.refusal);
        for (_, other, at) in setters.iter().filter(|(_, other, _)| *other != key) {
            message += &format!("; {other} is from {at}");
        }
        error(at, key, message)
    }
}

/// A cgroup's name in messages.
fn shown(path: &str) -> String {
    format!("\"{}\"", if path.is_empty() { "/" } else { path })
}

fn nowhere(path: &str) -> Location {
    Location { file: path.to_string(), position: None }
}

fn error(at: Location, key: &str, message: String) -> Problem {
    Problem { at, severity: Severity::Error, field: Some(key.to_string()), message }
}
