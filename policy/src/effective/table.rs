//! The bounded table for the kernel side.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::{
    matcher::RuleId,
    resolve::{Matched, Merged, Resolved},
};
use crate::{
    Classification, Settings,
    problem::{Location, Problem, Severity},
    rules::{PolicySet, ProcessPattern, Sets},
};

/// The most different policies, including the default.
pub const MAX_POLICIES: usize = 1024;
/// The most cgroups with a policy other than the default.
pub const MAX_CGROUPS: usize = 65_536;

/// Index of a policy in [`Effective::policies`].
pub type PolicyId = u32;

/// The policy of the threads of some cgroups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CgroupPolicy {
    /// What the rules set; `None` for defaults.
    pub sets: Sets,
    /// The thresholds, including defaults. They are validated.
    pub classification: Classification,
    /// The rule that `sets.reserve` comes from. Cgroups with the same rule share the same cores.
    pub reserve_rule: Option<RuleId>,
    /// Processes with a policy of their own. The first match counts. At most [`MAX_PROCESSES`].
    pub processes: Vec<ProcessPolicy>,
}

/// Processes of a cgroup that have a policy of their own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessPolicy {
    /// Their names.
    #[serde(serialize_with = "as_text")]
    pub pattern: ProcessPattern,
    /// Their policy. It has no `processes` itself.
    pub policy: PolicyId,
}

fn as_text<S: serde::Serializer>(p: &ProcessPattern, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(p)
}

/// The policies, and the policy of each cgroup.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) set: PolicySet,
    pub(super) settings: Settings,
    pub(super) policies: Vec<CgroupPolicy>,
    pub(super) cgroups: BTreeMap<u64, PolicyId>,
    /// The policy of each list of matching rules seen so far ...
    by_rules: HashMap<Vec<RuleId>, PolicyId>,
    /// ... and of each merged result.
    by_content: HashMap<Resolved, PolicyId>,
}

impl Table {
    /// A table with the default policy and no cgroup.
    pub(super) fn new(set: PolicySet, settings: Settings) -> Result<Self, Problem> {
        let mut table = Self {
            set,
            settings,
            policies: Vec::new(),
            cgroups: BTreeMap::new(),
            by_rules: HashMap::new(),
            by_content: HashMap::new(),
        };
        let default = Resolved { all: Merged::default(), processes: Vec::new() };
        table.intern(default)?;
        Ok(table)
    }

    /// Gives the cgroup `id`, to which `rules` apply, its policy.
    pub(super) fn place(
        &mut self,
        id: u64,
        path: &str,
        rules: &[RuleId],
    ) -> Result<PolicyId, Problem> {
        self.cgroups.remove(&id);
        let policy = match self.by_rules.get(rules) {
            Some(policy) => *policy,
            None => {
                let resolved = self.matched(rules).resolve(&self.settings, path)?;
                let policy = self.intern(resolved)?;
                // Only a cache: it must not grow while cgroups come and go for months.
                if self.by_rules.len() == MAX_CGROUPS {
                    self.by_rules.clear();
                }
                self.by_rules.insert(rules.to_vec(), policy);
                policy
            }
        };
        if policy != 0 {
            if self.cgroups.len() == MAX_CGROUPS {
                return Err(
                    self.full(format!("the rules apply to more than {MAX_CGROUPS} cgroups"))
                );
            }
            self.cgroups.insert(id, policy);
        }
        Ok(policy)
    }

    /// The rules with these numbers.
    pub(super) fn matched<'a>(&'a self, ids: &'a [RuleId]) -> Matched<'a> {
        Matched { all: self.set.rules(), ids }
    }

    /// The index of `resolved` in the table; adds it if it is new.
    fn intern(&mut self, resolved: Resolved) -> Result<PolicyId, Problem> {
        if let Some(policy) = self.by_content.get(&resolved) {
            return Ok(*policy);
        }
        let mut processes = Vec::new();
        for (pattern, merged) in &resolved.processes {
            let alone = Resolved { all: merged.clone(), processes: Vec::new() };
            let policy = self.intern(alone)?;
            processes.push(ProcessPolicy { pattern: pattern.clone(), policy });
        }
        if self.policies.len() == MAX_POLICIES {
            let what = format!("the rules make more than {MAX_POLICIES} different policies");
            return Err(self.full(what));
        }
        let id = self.policies.len() as PolicyId;
        let Merged { sets, reserve_rule } = resolved.all.clone();
        let classification = sets.classification(&self.settings.classification);
        self.policies.push(CgroupPolicy { sets, classification, reserve_rule, processes });
        self.by_content.insert(resolved, id);
        Ok(id)
    }

    fn full(&self, what: String) -> Problem {
        let file = self.set.files().last().cloned().unwrap_or_default();
        Problem {
            at: Location { file, position: None },
            severity: Severity::Error,
            field: None,
            message: format!("{what}, the most that the kernel side has room for"),
        }
    }
}
