//! From a path to the effective policy of this host. To reload is to load again: who has the old
//! one keeps it until the new one is there.

use std::path::Path;

use steer_policy::{CgroupTree, Effective, Files, PolicySet, Problems, Settings, Trust};

/// The files that the scheduler loads: those of `path`, or of the default folder.
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

/// What `files` come to for the cgroups in `tree`; `settings` hold where they say nothing.
///
/// # Errors
/// All that is wrong with them.
pub(crate) fn effective(
    files: &Files,
    settings: Settings,
    tree: &CgroupTree,
) -> Result<Effective, Problems> {
    Effective::new(PolicySet::read(files)?, settings, tree)
}
