//! Explains why a cgroup or a process has the values it has.

use serde::Serialize;

use super::Effective;
use crate::{
    problem::Location,
    rules::{Rule, Sets},
};

/// All values of a cgroup, or of a process in it, and where they come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Path of the cgroup, counted from the cgroup2 root; empty for the root.
    pub cgroup: String,
    /// Name of the process; `None` for processes that no rule names.
    pub process: Option<String>,
    /// One per setting.
    pub values: Vec<Explained>,
}

/// One setting and where its value comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The setting.
    pub key: &'static str,
    /// Its value; `None` if class and traffic decide.
    pub value: Option<String>,
    /// The rule that set it; `None` for the default.
    pub from: Option<Origin>,
    /// Less specific rules that also set it, most specific first.
    pub outvoted: Vec<Outvoted>,
}

/// A value that a less specific rule sets and that a more specific rule overrides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outvoted {
    /// The value.
    pub value: String,
    /// The rule.
    pub from: Origin,
}

/// Where a value was set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Origin {
    /// File, line and column of the value's key.
    pub at: Location,
    /// The rule's cgroup pattern.
    pub cgroup: String,
    /// The rule's process pattern, if it has one.
    pub process: Option<String>,
}

impl Effective {
    /// Explains the values of the cgroup `path`, which need not exist. With `process`, explains
    /// those of a process of that name in it (at most 15 bytes, as the kernel keeps it).
    pub fn explain(&self, path: &str, process: Option<&str>) -> Explanation {
        let ids = self.rules_for(path);
        let matched = self.table.matched(&ids);
        let mut values: Vec<_> = Sets::KEYS
            .iter()
            .map(|key| Explained { key, value: None, from: None, outvoted: Vec::new() })
            .collect();
        let applying = matched.rules().map(|(_, rule)| rule).filter(|rule| match &rule.process {
            None => true,
            Some(pattern) => process.is_some_and(|name| pattern.matches(name)),
        });
        for rule in applying {
            for (key, value) in rule.sets.entries() {
                let Some(explained) = values.iter_mut().find(|other| other.key == key) else {
                    continue;
                };
                let from = Origin::new(rule, key);
                match explained.value {
                    None => (explained.value, explained.from) = (Some(value), Some(from)),
                    Some(_) => explained.outvoted.push(Outvoted { value, from }),
                }
            }
        }
        for (key, value) in Sets::defaults(self.settings()).entries() {
            if let Some(explained) = values.iter_mut().find(|other| other.key == key) {
                explained.value.get_or_insert(value);
            }
        }
        Explanation { cgroup: path.to_string(), process: process.map(str::to_string), values }
    }
}

impl Origin {
    fn new(rule: &Rule, key: &str) -> Self {
        Self {
            at: rule.location_of(key),
            cgroup: rule.cgroup.to_string(),
            process: rule.process.as_ref().map(ToString::to_string),
        }
    }
}
