//! Loads the effective policy of this host from a path. A reload is a second load: the caller
//! keeps the old policy until the new one is complete.

use std::path::Path;

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

/// The policy that `files` give the cgroups in `tree`. `settings` are the defaults.
///
/// # Errors
/// Everything that is wrong with the files.
pub(crate) fn effective(
    files: &Files,
    settings: Settings,
    tree: &CgroupTree,
) -> Result<Effective, Problems> {
    Effective::new(PolicySet::read(files)?, settings, tree)
}
