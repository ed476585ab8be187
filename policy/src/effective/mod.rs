//! The effect of the rules on a host: a bounded table of policies, and each cgroup's place in it.
//! Pure.

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

/// The policies of a host.
#[derive(Clone, Debug)]
pub struct Effective {
    matcher: Matcher,
    table: Table,
}

impl Effective {
    /// Builds the table for the cgroups in `tree`. `settings` are the defaults.
    ///
    /// Besides the existing cgroups, each rule is tried on a path made from its pattern. This finds
    /// many mistakes before the cgroup that would show them exists.
    ///
    /// # Errors
    /// Rules contradict each other for a cgroup, or the table is too small.
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
        // Rules may meet in thousands of cgroups: report each contradiction once.
        problems.sort();
        problems.dedup_by(|a, b| a.at.position.is_some() && a.at == b.at && a.field == b.field);
        Err(Problems::from(problems))
    }

    /// Adds a cgroup that appeared or moved.
    ///
    /// # Errors
    /// Rules contradict each other for it, or the table is full. Then the cgroup has no entry. A
    /// table may be full of policies that no cgroup uses any more; a new table drops those.
    pub fn add(&mut self, id: u64, path: &str) -> Result<PolicyId, Problem> {
        let rules = self.rules_for(path);
        self.table.place(id, path, &rules)
    }

    /// Removes a cgroup that is gone.
    pub fn remove(&mut self, id: u64) {
        self.table.cgroups.remove(&id);
    }

    /// The policies. The first is the default. [`Effective::add`] may append policies, but never
    /// removes or changes one.
    pub fn policies(&self) -> &[CgroupPolicy] {
        &self.table.policies
    }

    /// The policy of each cgroup with a policy other than the default, by cgroup id.
    pub fn cgroups(&self) -> &BTreeMap<u64, PolicyId> {
        &self.table.cgroups
    }

    /// The rules.
    pub fn set(&self) -> &PolicySet {
        &self.table.set
    }

    /// The defaults for what no rule sets.
    pub fn settings(&self) -> &Settings {
        &self.table.settings
    }

    /// The rules that match the cgroup `path` or a cgroup above it, most specific first.
    pub fn rules_for(&self, path: &str) -> Vec<RuleId> {
        self.matcher.rules_for(path)
    }
}

/// Tries each rule on a cgroup made from its pattern, and returns what goes wrong.
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
