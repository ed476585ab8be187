//! One rule: whom it is for, what it sets, and where it stands.

use std::collections::BTreeMap;

use super::{cgroup::CgroupPattern, process::ProcessPattern, sets::Sets};
use crate::problem::{Location, Position};

/// One `[[rule]]` of a policy file.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The cgroups it is for, each with its descendants.
    pub cgroup: CgroupPattern,
    /// The processes in them it is for; `None` for all.
    pub process: Option<ProcessPattern>,
    /// What it sets.
    pub sets: Sets,
    /// Name of the file it stands in.
    pub(crate) file: String,
    /// Where it begins.
    pub(crate) position: Position,
    /// Where each of its keys stands.
    pub(crate) keys: BTreeMap<&'static str, Position>,
}

impl Rule {
    /// Where the rule begins.
    pub fn location(&self) -> Location {
        self.at(self.position)
    }

    /// Where it sets `key`; where it begins, if it does not.
    pub fn location_of(&self, key: &str) -> Location {
        self.at(self.keys.get(key).copied().unwrap_or(self.position))
    }

    fn at(&self, position: Position) -> Location {
        Location { file: self.file.clone(), position: Some(position) }
    }
}
