//! From the rules that match a cgroup to what holds for it.

use crate::{
    Settings,
    problem::{Location, Problem, Severity},
    rules::{Contradiction, ProcessPattern, Rule, Sets},
};

use super::matcher::RuleId;

/// Most process patterns that may apply to one cgroup: the kernel side tries them one by one.
pub const MAX_PROCESSES: usize = 8;

/// What holds for a cgroup, before it has a place in the table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Resolved {
    /// For all processes but those below.
    pub(super) all: Merged,
    /// For processes that match; the first that does counts.
    pub(super) processes: Vec<(ProcessPattern, Merged)>,
}

/// Several rules together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Merged {
    pub(super) sets: Sets,
    /// The rule whose `reserve` holds.
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

    /// What holds for the cgroup `path`.
    ///
    /// # Errors
    /// The rules contradict each other, or there are more process patterns than the bound.
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

    /// The process patterns, most specific first, none twice. Any two of them either have no name
    /// in common or one covers the other; so the first that matches a name is covered by all
    /// others that do.
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

    /// The rules that apply to every process matching `process`; without it, to all processes.
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

    /// What the rules for `process` set together: each setting as the most specific has it.
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

    /// Says of the rules that meet in the cgroup `path` which contradict each other: it is put
    /// down to the most specific, as the others may be right elsewhere.
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
        let mut message = format!("in the cgroup {} {}", shown(path), found.refusal);
        for (_, other, at) in setters.iter().filter(|(_, other, _)| *other != key) {
            message += &format!("; {other} is from {at}");
        }
        error(at, key, message)
    }
}

/// A cgroup as messages name it.
fn shown(path: &str) -> String {
    format!("\"{}\"", if path.is_empty() { "/" } else { path })
}

fn nowhere(path: &str) -> Location {
    Location { file: path.to_string(), position: None }
}

fn error(at: Location, key: &str, message: String) -> Problem {
    Problem { at, severity: Severity::Error, field: Some(key.to_string()), message }
}
