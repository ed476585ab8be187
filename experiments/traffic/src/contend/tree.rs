//! Makes the cgroups of a run, and removes them again.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::cgroup::Cgroup;

/// The cgroup that holds those of a run.
const BASE: &str = "steer-contend";
/// For the kernel to notice that a cgroup's last thread is gone.
const EMPTY: Duration = Duration::from_secs(5);

/// The cgroups of a run. They are removed when this is dropped, and controllers that had to be
/// enabled at the root are disabled.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    enabled: Vec<String>,
}

impl Tree {
    /// Makes the cgroups, and sets their limits.
    ///
    /// # Errors
    /// When cgroup2 is not mounted, or refuses a setting. The error names the file.
    pub(super) fn make(cgroups: &[Cgroup]) -> Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").context("reading the mounts")?;
        let root = mount_point(&mounts).context(
            "cgroup2 is not mounted, so there are no cgroups to run in; \
             try: mount -t cgroup2 none /sys/fs/cgroup",
        )?;
        let base = root.join(BASE);
        remove(&base).context("removing the cgroups of an earlier run that was killed")?;
        let mut tree = Self { root: root.clone(), enabled: Vec::new() };
        let settings: Vec<_> = cgroups.iter().map(|cgroup| (cgroup, cgroup.files())).collect();
        let controllers: BTreeSet<&str> = settings
            .iter()
            .flat_map(|(_, files)| files)
            .filter_map(|(file, _)| Some(file.split_once('.')?.0))
            .chain(["cpu"])
            .collect();
        for controller in controllers {
            if enable(&root, controller)? {
                tree.enabled.push(controller.to_owned());
            }
            make(&base)?;
            enable(&base, controller)?;
            for (cgroup, _) in &settings {
                let parts: Vec<_> = Path::new(&cgroup.path).ancestors().collect();
                // From the top; the last ancestor is the empty path, the first the cgroup itself.
                for parent in parts.iter().rev().skip(1).take(parts.len() - 2) {
                    make(&base.join(parent))?;
                    enable(&base.join(parent), controller)?;
                }
                make(&base.join(&cgroup.path))?;
            }
        }
        for (cgroup, files) in settings {
            for (file, value) in files {
                write(&base.join(&cgroup.path).join(file), &value)?;
            }
        }
        Ok(tree)
    }

    /// Moves the calling process into a cgroup.
    pub(super) fn join(&self, path: &str) -> Result<()> {
        write(&self.root.join(BASE).join(path).join("cgroup.procs"), "0")
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let removed = remove(&self.root.join(BASE)).and_then(|()| {
            let control = self.root.join("cgroup.subtree_control");
            self.enabled.iter().try_for_each(|name| write(&control, &format!("-{name}")))
        });
        if let Err(error) = removed {
            eprintln!("steer-bench: a cgroup is left: {error:#}");
        }
    }
}

fn make(folder: &Path) -> Result<()> {
    let made = fs::create_dir(folder);
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.with_context(|| format!("making the cgroup {}", folder.display())),
    }
}

/// Lets the children of a cgroup have a controller. False if they have it already.
fn enable(cgroup: &Path, controller: &str) -> Result<bool> {
    let control = cgroup.join("cgroup.subtree_control");
    let has = |file: &Path| -> Result<bool> {
        let text =
            fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        Ok(text.split_whitespace().any(|word| word == controller))
    };
    if has(&control)? {
        return Ok(false);
    }
    ensure!(
        has(&cgroup.join("cgroup.controllers"))?,
        "{} has no {controller} controller: its parent does not pass it on, or cgroup version 1 \
         has it",
        cgroup.display()
    );
    write(&control, &format!("+{controller}"))?;
    Ok(true)
}

fn write(file: &Path, value: &str) -> Result<()> {
    fs::write(file, value).with_context(|| format!("writing {value:?} to {}", file.display()))
}

/// Removes a cgroup and all below, deepest first. Does nothing if it does not exist.
fn remove(cgroup: &Path) -> Result<()> {
    let Ok(entries) = fs::read_dir(cgroup) else { return Ok(()) };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir())) {
        remove(&entry.path())?;
    }
    let deadline = Instant::now() + EMPTY;
    loop {
        match fs::remove_dir(cgroup) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                ensure!(
                    Instant::now() < deadline,
                    "the cgroup {} still has processes; is another `steer-bench contend` running?",
                    cgroup.display()
                );
                thread::sleep(Duration::from_millis(10));
            }
            removed => {
                return removed.with_context(|| format!("removing {}", cgroup.display()));
            }
        }
    }
}

/// Where cgroup2 is mounted, from /proc/self/mounts. On hosts that also have version 1, this is not
/// /sys/fs/cgroup.
fn mount_point(mounts: &str) -> Option<PathBuf> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mut found = fields.filter(|fields| fields.get(2) == Some(&"cgroup2"));
    Some(found.next()?.get(1)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_2_is_found_beside_version_1() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                      cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mount_point(mounts), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mount_point("tmpfs /tmp tmpfs rw 0 0\n"), None);
    }
}
