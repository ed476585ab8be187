//! The cgroup whose events are counted, as perf_event_open(2) wants it: an open folder.

use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use procfs::process::{MountInfo, Process};

/// Opens the cgroup at `path` from the cgroup2 root.
///
/// # Errors
/// When cgroup2 is not mounted, or has no such cgroup.
pub(crate) fn open(path: &str) -> Result<File> {
    let mounts = Process::myself()
        .and_then(|me| me.mountinfo())
        .context("cannot read /proc/self/mountinfo")?;
    let root = mount_point(mounts.0).context(
        "cgroup2 is not mounted, so there is no cgroup to count for; \
         try: mount -t cgroup2 none /sys/fs/cgroup",
    )?;
    let folder = root.join(path.trim_matches('/'));
    // Every folder there is a cgroup; a path that climbs out of it is none.
    ensure!(
        !folder.components().any(|part| part.as_os_str() == "..") && folder.is_dir(),
        "there is no cgroup {path} below {}; `systemd-cgls` or `find` lists what there is",
        root.display()
    );
    File::open(&folder).with_context(|| format!("cannot open the cgroup {}", folder.display()))
}

/// The cgroup2 mount, which is not /sys/fs/cgroup on hosts that have version 1 as well: the one
/// that shows the whole tree, if there is one.
fn mount_point(mounts: Vec<MountInfo>) -> Option<PathBuf> {
    mounts
        .into_iter()
        .filter(|mount| mount.fs_type == "cgroup2")
        .min_by_key(|mount| mount.root != "/")
        .map(|mount| mount.mount_point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_of_the_whole_tree_goes_before_one_of_a_part() {
        let mounts = [
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw",
            "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
            "40 1 0:26 /part /part rw - cgroup2 cgroup2 rw",
            "41 1 0:26 / /whole rw shared:4 - cgroup2 cgroup2 rw",
        ]
        .map(|line| MountInfo::from_line(line).unwrap());
        assert_eq!(mount_point(mounts.to_vec()), Some("/whole".into()));
        assert_eq!(mount_point(mounts[..2].to_vec()), None);
    }
}
