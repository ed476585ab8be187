//! Which files on disk count as policy files, and which are refused.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
};

use steer_policy::{Files, MAX_FILE_BYTES, PolicySet, Severity, Trust};
use tempfile::TempDir;

const RULE: &str = "[[rule]]\ncgroup = \"a\"\nclass = \"long\"\n";

/// A folder that nobody else can write.
fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    dir
}

fn write(dir: &TempDir, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    path
}

fn load(path: &Path) -> Files {
    let mut files = Files::default();
    files.add(path, Trust::Required);
    files
}

/// The messages about `path`, without the name of the folder.
fn refused(dir: &TempDir, path: &Path) -> String {
    let problems = PolicySet::read(&load(path)).unwrap_err();
    problems.to_string().replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn a_folder_is_read_in_the_order_of_names() {
    let dir = folder();
    for name in ["20-b.toml", "10-a.toml", "README", "old.toml.bak", ".#10-a.toml"] {
        write(&dir, name, RULE);
    }
    symlink(".#gone", dir.path().join(".#link.toml")).unwrap();
    let files = load(dir.path());
    let names: Vec<_> = files.sources.iter().map(|s| s.name.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["10-a.toml", "20-b.toml"]);
    assert_eq!(PolicySet::read(&files).unwrap().rules().len(), 2);
}

#[test]
fn an_empty_folder_is_an_empty_set() {
    let dir = folder();
    assert!(PolicySet::read(&load(dir.path())).unwrap().rules().is_empty());
}

#[test]
fn a_missing_path_is_said() {
    let dir = folder();
    let said = refused(&dir, &dir.path().join("missing"));
    assert_eq!(said, "missing: cannot be read: No such file or directory (os error 2)");
}

#[test]
fn what_others_can_write_is_refused() {
    let dir = folder();
    let file = write(&dir, "a.toml", RULE);
    for (mode, who) in [(0o664, "group"), (0o646, "others"), (0o666, "group and others")] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            refused(&dir, dir.path()),
            format!(
                "a.toml: the file can be written by {who} (mode {mode:04o}), who could change the \
                 policy; allowed: its owner alone (chmod go-w)"
            )
        );
    }
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
    assert_eq!(
        refused(&dir, dir.path()).replace(&dir.path().display().to_string(), "DIR"),
        "DIR: the folder can be written by group and others (mode 1777), who could change the \
         policy; allowed: its owner alone (chmod go-w)"
    );
}

#[test]
fn of_drafts_it_is_only_warned() {
    let dir = folder();
    let file = write(&dir, "a.toml", RULE);
    fs::set_permissions(&file, Permissions::from_mode(0o664)).unwrap();
    let mut files = Files::default();
    files.add(&file, Trust::Advised);
    let set = PolicySet::read(&files).unwrap();
    assert_eq!(set.warnings().len(), 1);
    assert_eq!(set.warnings()[0].severity, Severity::Warning);
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    let dir = folder();
    let file = write(&dir, "a.toml", RULE);
    if chown(&file, Some(54_321), None).is_err() {
        eprintln!("SKIPPED what_belongs_to_somebody_else_is_refused: needs root");
        return;
    }
    assert_eq!(
        refused(&dir, dir.path()),
        "a.toml: the file belongs to user 54321, who could change the policy; allowed: root and \
         the user scx_steer runs as (chown root)"
    );
}

#[test]
fn links_within_the_folder_are_followed_and_others_refused() {
    let (dir, other) = (folder(), folder());
    // As Kubernetes mounts a ConfigMap.
    fs::create_dir(dir.path().join("..v1")).unwrap();
    write(&dir, "..v1/a.toml", RULE);
    symlink("..v1", dir.path().join("..data")).unwrap();
    symlink("..data/a.toml", dir.path().join("a.toml")).unwrap();
    assert_eq!(PolicySet::read(&load(dir.path())).unwrap().rules().len(), 1);

    let target = write(&other, "b.toml", RULE);
    symlink(&target, dir.path().join("b.toml")).unwrap();
    symlink("nowhere", dir.path().join("c.toml")).unwrap();
    symlink("d.toml", dir.path().join("d.toml")).unwrap();
    let target = target.canonicalize().unwrap();
    let said = refused(&dir, dir.path()).replace(&target.display().to_string(), "TARGET");
    assert_eq!(
        said,
        "b.toml: a symbolic link that leaves the folder, to TARGET; allowed: links to files in \
         the folder\n\
         c.toml: a broken symbolic link; allowed: links to files in the folder\n\
         d.toml: cannot be read: Too many levels of symbolic links (os error 40)"
    );
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let dir = folder();
    fs::create_dir(dir.path().join("a.toml")).unwrap();
    let pipe = dir.path().join("b.toml");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    const SAID: &str = "not a regular file; allowed: files, and links to files in the folder";
    assert_eq!(refused(&dir, dir.path()), format!("a.toml: {SAID}\nb.toml: {SAID}"));
}

#[test]
fn huge_files_are_refused() {
    let dir = folder();
    let comment = "#".repeat(MAX_FILE_BYTES as usize - RULE.len() - 1);
    write(&dir, "a.toml", format!("{RULE}{comment}\n"));
    assert!(PolicySet::read(&load(dir.path())).is_ok());
    write(&dir, "a.toml", format!("{RULE}{comment}#\n"));
    assert_eq!(refused(&dir, dir.path()), "a.toml: larger than 1 MiB, the limit for a policy file");
}

#[test]
fn what_is_no_utf_8_is_refused() {
    let dir = folder();
    write(&dir, "a.toml", b"# fine\n# caf\xe9\n");
    assert_eq!(refused(&dir, dir.path()), "a.toml: line 2 is not UTF-8; a TOML file must be UTF-8");
}

#[test]
fn good_and_bad_files_are_reported_together() {
    let dir = folder();
    write(&dir, "a.toml", "[[rule]]\ncgroup = \"a\"\nclas = \"long\"\n");
    write(&dir, "b.toml", b"\xff");
    let said = refused(&dir, dir.path());
    assert_eq!(said.lines().count(), 2, "{said}");
}
