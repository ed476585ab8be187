//! Loads the effective policy of this host from a path. A reload is a second load: the caller
//! keeps the old policy until the new one is complete.

use std::path::Path;

use anyhow::{Result, anyhow};
use steer_policy::{CgroupTree, Effective, Files, PolicySet, Problems, Settings, Trust};

/// The files to load: those at `path`, or those of the default folder.
pub(crate) fn files(path: Option<&Path>) -> Files {
    match path {
        None => Files::load_default(),
        Some(path) => {
            let mut files = Files::default();
            files.add(path, Trust::Required);
            files
        }
    }
}

/// The rules of the files at `path`, or of the installed ones.
///
/// # Errors
/// Everything that is wrong with the files.
pub(crate) fn set(path: Option<&Path>) -> Result<PolicySet> {
    PolicySet::read(&files(path))
        .map_err(|problems| anyhow!("the policy files are refused:\n{problems}"))
}

/// The policy that `files` give the cgroups in `tree`. `settings` are the defaults.
///
/// # Errors
/// Everything that is wrong with the files.
pub(crate) fn effective(
    files: &Files,
    settings: Settings,
    tree: &CgroupTree,
) -> std::result::Result<Effective, Problems> {
    Effective::new(PolicySet::read(files)?, settings, tree)
}
