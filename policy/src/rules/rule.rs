//! One rule: what it applies to, what it sets, and its place in the files.

use std::collections::BTreeMap;

use super::{cgroup::CgroupPattern, process::ProcessPattern, sets::Sets};
use crate::problem::{Location, Position};

/// One `[[rule]]` of a policy file.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The cgroups it applies to, each with its descendants.
    pub cgroup: CgroupPattern,
    /// The processes in them that it applies to; `None` for all.
    pub process: Option<ProcessPattern>,
    /// What it sets.
    pub sets: Sets,
    /// Name of its file.
    pub(crate) file: String,
    /// Where it starts.
    pub(crate) position: Position,
    /// The place of each of its keys.
    pub(crate) keys: BTreeMap<&'static str, Position>,
}

impl Rule {
    /// Where the rule starts.
    pub fn location(&self) -> Location {
        self.at(self.position)
    }

    /// Where it sets `key`, or where the rule starts if it does not set it.
    pub fn location_of(&self, key: &str) -> Location {
        self.at(self.keys.get(key).copied().unwrap_or(self.position))
    }

    fn at(&self, position: Position) -> Location {
        Location { file: self.file.clone(), position: Some(position) }
    }
}
