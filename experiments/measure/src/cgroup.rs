//! Opens the folder of a cgroup, so that perf_event_open(2) can count its events.

use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use procfs::process::{MountInfo, Process};

/// Opens the cgroup at `path`, counted from the cgroup2 root.
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
    // Every folder below the mount is a cgroup. A path that leaves the mount is not.
    ensure!(
        !folder.components().any(|part| part.as_os_str() == "..") && folder.is_dir(),
        "there is no cgroup {path} below {}; `systemd-cgls` or `find` lists the cgroups",
        root.display()
    );
    File::open(&folder).with_context(|| format!("cannot open the cgroup {}", folder.display()))
}

/// Finds the cgroup2 mount. On hosts that also have version 1, this is not /sys/fs/cgroup. Prefers
/// a mount of the whole tree over a mount of a part of it.
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
