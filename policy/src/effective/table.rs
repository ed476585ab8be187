//! The bounded table that the kernel side is given.

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

/// Most different policies, the default included.
pub const MAX_POLICIES: usize = 1024;
/// Most cgroups with a policy other than the default.
pub const MAX_CGROUPS: usize = 65_536;

/// Index of a policy in [`Effective::policies`].
pub type PolicyId = u32;

/// What holds for the threads of some cgroups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CgroupPolicy {
    /// What the rules set; `None` where they leave it to the default.
    pub sets: Sets,
    /// The thresholds, defaults included; valid.
    pub classification: Classification,
    /// The rule that `sets.reserve` comes from: cgroups with the same one share the same cores.
    pub reserve_rule: Option<RuleId>,
    /// Processes for which another policy holds; the first that matches counts. At most
    /// [`MAX_PROCESSES`].
    pub processes: Vec<ProcessPolicy>,
}

/// Processes of a cgroup for which another policy holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessPolicy {
    /// Their names.
    #[serde(serialize_with = "as_text")]
    pub pattern: ProcessPattern,
    /// The policy; it has no `processes` itself.
    pub policy: PolicyId,
}

fn as_text<S: serde::Serializer>(p: &ProcessPattern, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(p)
}

/// Policies, and which cgroup has which.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) set: PolicySet,
    pub(super) settings: Settings,
    pub(super) policies: Vec<CgroupPolicy>,
    pub(super) cgroups: BTreeMap<u64, PolicyId>,
    /// The policy for each list of matching rules seen so far ...
    by_rules: HashMap<Vec<RuleId>, PolicyId>,
    /// ... and for what such a list comes to.
    by_content: HashMap<Resolved, PolicyId>,
}

impl Table {
    /// No cgroup, and the default policy.
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
                // A shortcut only: cgroups that come and go for months must not make it grow.
                if self.by_rules.len() == MAX_CGROUPS {
                    self.by_rules.clear();
                }
                self.by_rules.insert(rules.to_vec(), policy);
                policy
            }
        };
        if policy != 0 {
            if self.cgroups.len() == MAX_CGROUPS {
                return Err(self.full(format!("rules apply to more than {MAX_CGROUPS} cgroups")));
            }
            self.cgroups.insert(id, policy);
        }
        Ok(policy)
    }

    /// The rules with these numbers.
    pub(super) fn matched<'a>(&'a self, ids: &'a [RuleId]) -> Matched<'a> {
        Matched { all: self.set.rules(), ids }
    }

    /// The place of `resolved` in the table.
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
            let what = format!("the rules come to more than {MAX_POLICIES} different policies");
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
