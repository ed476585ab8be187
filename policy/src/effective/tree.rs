//! The cgroups of a host at one moment.

use serde::{Deserialize, Serialize};

/// The cgroups of a host at one moment, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CgroupTree(Vec<Cgroup>);

/// One cgroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    /// The kernel's number for it: the inode number of its folder.
    pub id: u64,
    /// Its path, counted from the root of the cgroup2 mount, without leading and trailing slashes.
    /// Empty for the root.
    pub path: String,
}

impl CgroupTree {
    /// The cgroups, in any order.
    pub fn cgroups(&self) -> &[Cgroup] {
        &self.0
    }
}

impl FromIterator<Cgroup> for CgroupTree {
    fn from_iter<I: IntoIterator<Item = Cgroup>>(cgroups: I) -> Self {
        Self(cgroups.into_iter().collect())
    }
}

/// The names in `path`; none for the root.
pub(super) fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}
