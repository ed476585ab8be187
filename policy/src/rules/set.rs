//! The rules of all files, most specific first.

use std::cmp::Reverse;

use super::{check::check, read::read, rule::Rule, serves::outdone};
use crate::{
    files::Files,
    problem::{Problem, Problems, Severity},
};

/// The most rules in a set.
pub const MAX_RULES: usize = 4096;

/// The rules of a set of policy files without errors, most specific first.
///
/// Of two rules, the more specific one is the one whose cgroup pattern
/// 1. has more names without wildcards;
/// 2. reaches deeper (its shallowest match has more names);
/// 3. has more names without wildcards before its first wildcard;
/// 4. has fewer `**`;
/// 5. has more characters other than wildcards, in its names with wildcards;
///
/// then the one whose process pattern
/// 6. is a whole name, before a start, before none; a longer start before a shorter one;
///
/// then the one that comes
/// 7. in a later file, or later in the same file.
///
/// For each setting, the most specific rule that sets it wins.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    rules: Vec<Rule>,
    files: Vec<String>,
    warnings: Vec<Problem>,
}

impl PolicySet {
    /// Reads `files`.
    ///
    /// # Errors
    /// All problems, including those found while loading the files.
    pub fn read(files: &Files) -> Result<Self, Problems> {
        let mut problems = files.problems.clone();
        let mut rules = Vec::new();
        for source in &files.sources {
            let (found, wrong) = read(source);
            problems.extend(wrong);
            problems.extend(check(&found));
            rules.extend(found);
        }
        if let Some(rule) = rules.get(MAX_RULES) {
            let message = format!("{} rules in all files; allowed: {MAX_RULES}", rules.len());
            let at = rule.location();
            problems.push(Problem { at, severity: Severity::Error, field: None, message });
        }
        let mut warnings = Problems::judge(problems)?;
        // The sort is stable, so of equals the later one comes first.
        rules.reverse();
        rules.sort_by_cached_key(|rule| {
            let process = rule.process.as_ref().map(|process| process.specificity());
            Reverse((rule.cgroup.specificity(), process))
        });
        warnings.extend(outdone(&rules));
        let files = files.sources.iter().map(|source| source.name.clone()).collect();
        Ok(Self { rules, files, warnings })
    }

    /// The rules, most specific first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The names of the files, in order.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Warnings: what does not do what it seems to do.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }
}
