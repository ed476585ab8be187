//! `scx_steer policy show`.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use anyhow::Result;
use serde::Serialize;
use steer_policy::{
    CgroupTree, Effective, Location, PolicyId, ProcessPolicy, Rule, RuleId, Sets, Settings,
};

use super::{args::ShowArgs, check::count, load};
use crate::cgroups;

/// Prints the policies of this host and the cgroups each one applies to.
pub(crate) fn run(args: &ShowArgs) -> Result<()> {
    let files = load::files(args.policy.policy.as_deref());
    let root = match &args.root.cgroup_root {
        Some(root) => root.clone(),
        None => cgroups::mount_point()?,
    };
    let tree = cgroups::walk(&root)?;
    let effective = load::effective(&files, Settings::default(), &tree)?;
    let shown = Shown::new(&effective, &tree);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&shown)?);
    } else {
        print!("{}", shown.text(&root)?);
    }
    Ok(())
}

/// The effective policy as it is printed.
#[derive(Serialize)]
struct Shown<'a> {
    files: &'a [String],
    /// The rules, most specific first.
    rules: Vec<ShownRule<'a>>,
    /// The first is the default.
    policies: Vec<ShownPolicy<'a>>,
    /// The number of all cgroups.
    cgroups: usize,
}

#[derive(Serialize)]
struct ShownRule<'a> {
    at: Location,
    cgroup: String,
    process: Option<String>,
    sets: &'a Sets,
    /// How many cgroups it applies to: those it matches and all below them.
    cgroups: usize,
}

#[derive(Serialize)]
struct ShownPolicy<'a> {
    sets: &'a Sets,
    processes: &'a [ProcessPolicy],
    cgroups: Vec<ShownCgroup<'a>>,
}

#[derive(Serialize)]
struct ShownCgroup<'a> {
    id: u64,
    path: &'a str,
    /// Indices in `rules`.
    rules: Vec<RuleId>,
}

impl<'a> Shown<'a> {
    fn new(effective: &'a Effective, tree: &'a CgroupTree) -> Self {
        let mut applied: BTreeMap<RuleId, usize> = BTreeMap::new();
        let mut by_policy: BTreeMap<PolicyId, Vec<ShownCgroup<'a>>> = BTreeMap::new();
        for cgroup in tree.cgroups() {
            let Some(policy) = effective.cgroups().get(&cgroup.id) else { continue };
            let rules = effective.rules_for(&cgroup.path);
            rules.iter().for_each(|rule| *applied.entry(*rule).or_default() += 1);
            let shown = ShownCgroup { id: cgroup.id, path: &cgroup.path, rules };
            by_policy.entry(*policy).or_default().push(shown);
        }
        let rule = |(id, rule): (RuleId, &'a Rule)| ShownRule {
            at: rule.location(),
            cgroup: rule.cgroup.to_string(),
            process: rule.process.as_ref().map(ToString::to_string),
            sets: &rule.sets,
            cgroups: applied.get(&id).copied().unwrap_or_default(),
        };
        let mut policies: Vec<_> = effective
            .policies()
            .iter()
            .map(|policy| ShownPolicy {
                sets: &policy.sets,
                processes: &policy.processes,
                cgroups: Vec::new(),
            })
            .collect();
        for (policy, mut cgroups) in by_policy {
            cgroups.sort_by_key(|cgroup| cgroup.path);
            policies[policy as usize].cgroups = cgroups;
        }
        Self {
            files: effective.set().files(),
            rules: (0..).zip(effective.set().rules()).map(rule).collect(),
            policies,
            cgroups: tree.cgroups().len(),
        }
    }

    fn text(&self, root: &Path) -> Result<String> {
        let mut out = String::new();
        let governed: usize = self.policies.iter().map(|policy| policy.cgroups.len()).sum();
        writeln!(
            out,
            "{} in {}; they apply to {governed} of {} in {}",
            count(self.rules.len(), "rule"),
            count(self.files.len(), "file"),
            count(self.cgroups, "cgroup"),
            root.display()
        )?;
        for (id, policy) in self.policies.iter().enumerate() {
            if !policy.cgroups.is_empty() {
                write!(out, "\npolicy {id}: {}\n", settings(policy.sets))?;
                for process in policy.processes {
                    let sets = self.policies[process.policy as usize].sets;
                    writeln!(out, "  processes \"{}\": {}", process.pattern, settings(sets))?;
                }
                self.cgroups_of(policy, &mut out)?;
            }
        }
        let idle: Vec<_> = self.rules.iter().filter(|rule| rule.cgroups == 0).collect();
        if !idle.is_empty() {
            writeln!(out, "\nrules that match no cgroup now:")?;
        }
        for rule in idle {
            writeln!(out, "  {}  cgroup \"{}\"", rule.at, rule.cgroup)?;
        }
        Ok(out)
    }

    /// The cgroups of a policy, each with the rules it comes from.
    fn cgroups_of(&self, policy: &ShownPolicy<'_>, out: &mut String) -> Result<()> {
        for cgroup in &policy.cgroups {
            let rules: Vec<_> =
                cgroup.rules.iter().map(|id| self.rules[*id as usize].at.to_string()).collect();
            writeln!(out, "  /{}  ({})", cgroup.path, rules.join(", "))?;
        }
        Ok(())
    }
}

/// The settings on one line.
fn settings(sets: &Sets) -> String {
    let entries: Vec<_> = sets.entries().map(|(key, value)| format!("{key} = {value}")).collect();
    match entries.is_empty() {
        true => "all defaults".into(),
        false => entries.join(", "),
    }
}
