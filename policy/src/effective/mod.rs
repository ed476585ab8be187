//! What the rules come to on a host: a bounded table of policies, and for each cgroup its place
//! in it. Pure.

mod explain;
mod matcher;
mod resolve;
mod table;
mod tree;

use std::collections::{BTreeMap, HashSet};

use crate::{
    Settings,
    problem::{Location, Problem, Problems, Severity},
    rules::PolicySet,
};
use matcher::Matcher;
use table::Table;

pub use explain::{Explained, Explanation, Origin, Outvoted};
pub use matcher::RuleId;
pub use resolve::MAX_PROCESSES;
pub use table::{CgroupPolicy, MAX_CGROUPS, MAX_POLICIES, PolicyId, ProcessPolicy};
pub use tree::{Cgroup, CgroupTree};

/// A rule set on a host.
#[derive(Clone, Debug)]
pub struct Effective {
    matcher: Matcher,
    table: Table,
}

impl Effective {
    /// The table for the cgroups in `tree`; `settings` hold where no rule says anything.
    ///
    /// Beyond the cgroups that are there, each rule is tried on a path made from its pattern, so
    /// that much of what would go wrong once a cgroup appears is found before.
    ///
    /// # Errors
    /// Rules that contradict each other where they meet, or a table beyond its bounds.
    pub fn new(set: PolicySet, settings: Settings, tree: &CgroupTree) -> Result<Self, Problems> {
        let matcher = Matcher::new(set.rules())
            .map_err(|error| Problems::from(vec![uncompilable(&set, &error)]))?;
        let mut table =
            Table::new(set, settings).map_err(|problem| Problems::from(vec![problem]))?;
        let mut problems = try_samples(&matcher, &table);
        matcher.walk(tree, |cgroup, rules| {
            problems.extend(table.place(cgroup.id, &cgroup.path, rules).err());
        });
        if problems.is_empty() {
            return Ok(Self { matcher, table });
        }
        // Once is enough for rules that meet in thousands of cgroups.
        problems.sort();
        problems.dedup_by(|a, b| a.at.position.is_some() && a.at == b.at && a.field == b.field);
        Err(Problems::from(problems))
    }

    /// Takes in a cgroup that appeared or moved.
    ///
    /// # Errors
    /// Rules contradict each other for it, or the table is full. It has no place in it then. A
    /// table may be full of policies that no cgroup has any more: a new one forgets them.
    pub fn add(&mut self, id: u64, path: &str) -> Result<PolicyId, Problem> {
        let rules = self.rules_for(path);
        self.table.place(id, path, &rules)
    }

    /// Forgets a cgroup that vanished.
    pub fn remove(&mut self, id: u64) {
        self.table.cgroups.remove(&id);
    }

    /// The policies. The first is the default. [`Effective::add`] may append some; none goes or
    /// changes.
    pub fn policies(&self) -> &[CgroupPolicy] {
        &self.table.policies
    }

    /// The policy of each cgroup that has another than the default, by cgroup id.
    pub fn cgroups(&self) -> &BTreeMap<u64, PolicyId> {
        &self.table.cgroups
    }

    /// The rules.
    pub fn set(&self) -> &PolicySet {
        &self.table.set
    }

    /// What holds where no rule says anything.
    pub fn settings(&self) -> &Settings {
        &self.table.settings
    }

    /// The rules that match the cgroup `path` or one above it, most specific first.
    pub fn rules_for(&self, path: &str) -> Vec<RuleId> {
        self.matcher.rules_for(path)
    }
}

/// What goes wrong for a cgroup that each rule was written for.
fn try_samples(matcher: &Matcher, table: &Table) -> Vec<Problem> {
    let mut seen = HashSet::new();
    let mut problems = Vec::new();
    for path in table.set.rules().iter().filter_map(|rule| rule.cgroup.sample()) {
        let rules = matcher.rules_for(&path);
        if !seen.contains(&rules) {
            problems.extend(table.matched(&rules).resolve(&table.settings, &path).err());
            seen.insert(rules);
        }
    }
    problems
}

fn uncompilable(set: &PolicySet, error: &globset::Error) -> Problem {
    let file = set.files().last().cloned().unwrap_or_default();
    Problem {
        at: Location { file, position: None },
        severity: Severity::Error,
        field: Some("cgroup".into()),
        message: format!("the patterns of all files cannot be compiled together: {error}"),
    }
}
