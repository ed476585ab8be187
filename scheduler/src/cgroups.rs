//! The cgroups of this host: finds the cgroup2 mount and reads its tree.

use std::{
    fs,
    io::{Error, ErrorKind},
    os::unix::{
        ffi::OsStringExt,
        fs::{DirEntryExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use rustix::io::Errno;
use steer_bpf::ObservedCgroup;
use steer_policy::{Cgroup, CgroupTree};

/// The cgroup2 mount. On hybrid hosts /sys/fs/cgroup holds version 1, so cgroup2 is elsewhere.
pub(crate) fn mount_point() -> Result<PathBuf> {
    let mounts = fs::read("/proc/self/mountinfo").context("reading /proc/self/mountinfo")?;
    find_mount(&mounts).context(
        "cgroup2 is not mounted (no such line in /proc/self/mountinfo): \
         mount -t cgroup2 none /sys/fs/cgroup",
    )
}

/// Looks up the cgroup at `path`, counted from the cgroup2 root, for the observer.
pub(crate) fn observed(path: &str) -> Result<ObservedCgroup> {
    let folder = mount_point()?.join(path.trim_matches('/'));
    let found = fs::metadata(&folder)
        .with_context(|| format!("{path} is not a cgroup: cannot read {}", folder.display()))?;
    let depth = path.split('/').filter(|name| !name.is_empty()).count();
    Ok(ObservedCgroup { id: found.ino(), depth: u32::try_from(depth)? })
}

/// Finds the cgroup2 mount in a mountinfo file (proc_pid_mountinfo(5)). Prefers a mount of the
/// whole tree over a mount of a part of it.
fn find_mount(mounts: &[u8]) -> Option<PathBuf> {
    let mut partial = None;
    for line in mounts.split(|byte| *byte == b'\n') {
        let mut fields = line.split(|byte| *byte == b' ');
        let (Some(root), Some(point)) = (fields.nth(3), fields.next()) else { continue };
        // Optional fields end with a lone dash; the file system's type follows.
        if fields.by_ref().find(|field| *field == b"-").is_none()
            || fields.next() != Some(b"cgroup2".as_slice())
        {
            continue;
        }
        let point = PathBuf::from(std::ffi::OsString::from_vec(unescape(point)));
        if root == b"/" {
            return Some(point);
        }
        partial.get_or_insert(point);
    }
    partial
}

/// Undoes the kernel's octal escapes, such as `\040` for a space.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                Some((((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'), after))
            }
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, tail));
        bytes.push(byte);
        rest = after;
    }
    bytes
}

/// Reads `root` and all cgroups below it. Leaves out cgroups that are removed meanwhile.
pub(crate) fn walk(root: &Path) -> Result<CgroupTree> {
    let id = fs::metadata(root).with_context(|| format!("reading {}", root.display()))?.ino();
    let mut found = vec![Cgroup { id, path: String::new() }];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        let path = parent.path.clone();
        next += 1;
        match children(root, &path) {
            Ok(children) => found.extend(children),
            Err(error) if has_vanished(&error) => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("reading {}", root.join(&path).display()));
            }
        }
    }
    Ok(found.into_iter().collect())
}

fn children(root: &Path, parent: &str) -> Result<Vec<Cgroup>, Error> {
    let mut children = Vec::new();
    for entry in fs::read_dir(root.join(parent))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            // Patterns are text, so only wildcards can match a name that is not UTF-8.
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if parent.is_empty() { name } else { format!("{parent}/{name}") };
            children.push(Cgroup { id: entry.ino(), path });
        }
    }
    Ok(children)
}

/// Reading the open folder of a removed cgroup fails with ENODEV.
fn has_vanished(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(Errno::NODEV.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_is_found_on_pure_and_hybrid_hosts() {
        let pure = b"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        assert_eq!(find_mount(pure), Some("/sys/fs/cgroup".into()));
        let hybrid = b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        assert_eq!(find_mount(hybrid), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(find_mount(b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"), None);
        assert_eq!(find_mount(b"garbage\n\n"), None);
    }

    #[test]
    fn a_mount_of_the_whole_tree_goes_before_one_of_a_part() {
        let mounts = b"40 1 0:26 /docker/1 /part rw - cgroup2 cgroup2 rw\n\
            41 1 0:26 / /my\\040cgroups rw - cgroup2 cgroup2 rw\n";
        assert_eq!(find_mount(mounts), Some("/my cgroups".into()));
    }

    #[test]
    fn the_tree_is_walked_with_the_inodes_as_ids() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a.slice/b.service")).unwrap();
        fs::write(dir.path().join("cgroup.procs"), "").unwrap();
        let tree = walk(dir.path()).unwrap();
        let paths: Vec<_> = tree.cgroups().iter().map(|cgroup| cgroup.path.as_str()).collect();
        assert_eq!(paths, ["", "a.slice", "a.slice/b.service"]);
        let ino = fs::metadata(dir.path().join("a.slice")).unwrap().ino();
        assert_eq!(tree.cgroups()[1].id, ino);
    }

    #[test]
    fn what_vanishes_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        assert!(has_vanished(&children(dir.path(), "gone").unwrap_err()));
        assert!(walk(&dir.path().join("gone")).is_err(), "but the root must exist");
    }
}
