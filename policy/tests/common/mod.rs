//! Helpers that several tests share.
#![allow(dead_code, reason = "each test uses some of it")]

use steer_policy::{Cgroup, CgroupTree, Effective, Files, PolicySet, Problems, Settings, Source};

/// Files named `1.toml`, `2.toml`, … with `texts` as content.
pub(crate) fn files(texts: &[&str]) -> Files {
    let source = |(number, text): (usize, &&str)| Source {
        name: format!("{number}.toml"),
        text: (*text).to_string(),
    };
    Files::from_sources((1..).zip(texts).map(source).collect())
}

/// Cgroups with the ids 1, 2, …
pub(crate) fn tree<S: AsRef<str>>(paths: &[S]) -> CgroupTree {
    let cgroup = |(id, path): (u64, &S)| Cgroup { id, path: path.as_ref().to_string() };
    (1..).zip(paths).map(cgroup).collect()
}

/// The policies that files with `texts` give cgroups of these paths.
pub(crate) fn effective<S: AsRef<str>>(texts: &[&str], paths: &[S]) -> Result<Effective, Problems> {
    Effective::new(PolicySet::read(&files(texts))?, Settings::default(), &tree(paths))
}
