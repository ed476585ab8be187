//! Reads files below a root folder: `/`, or a recorded host. A file that is absent is `None`. A file
//! that may not be read is a reason why a check could not be made.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use steer_topology::CpuSet;

use crate::case::Unchecked;

/// The name of the file of a recorded host that lists what could not be read there.
pub(crate) const DENIED: &str = "denied";

/// The folder that has `sys`, `proc`, `etc` and so on.
#[derive(Debug)]
pub struct Root {
    folder: PathBuf,
    denied: BTreeSet<String>,
    reads: RefCell<Reads>,
}

/// What was read so far, by path without the leading slash.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    pub(crate) contents: BTreeMap<String, Vec<u8>>,
    pub(crate) denied: BTreeSet<String>,
    /// Folders that are there.
    pub(crate) folders: BTreeSet<String>,
}

impl Root {
    /// The files below `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Root {
        let folder = folder.into();
        // a running host has no such file at its root
        let denied = fs::read_to_string(folder.join(DENIED)).unwrap_or_default();
        let denied = denied.lines().map(str::to_owned).collect();
        Root { folder, denied, reads: RefCell::default() }
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What was read so far.
    pub(crate) fn reads(&self) -> Reads {
        self.reads.borrow().clone()
    }

    /// The content of a file; `None` if it is absent.
    pub(crate) fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, Unchecked> {
        let content = self.peek(path)?;
        if let Some(content) = &content {
            self.reads.borrow_mut().contents.insert(path.to_owned(), content.clone());
        }
        Ok(content)
    }

    /// As [`Root::bytes`], but not kept for a recording: for files that are searched, such as those
    /// of all processes.
    pub(crate) fn peek(&self, path: &str) -> Result<Option<Vec<u8>>, Unchecked> {
        let refused =
            self.denied.contains(path).then(|| io::Error::from_raw_os_error(libc::EACCES));
        match refused.map_or_else(|| fs::read(self.folder.join(path)), Err) {
            Ok(content) => Ok(Some(content)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => {
                self.reads.borrow_mut().denied.insert(path.to_owned());
                Err(Unchecked::read(path, &error))
            }
        }
    }

    /// The text of a file without its line end; `None` if it is absent.
    pub(crate) fn text(&self, path: &str) -> Result<Option<String>, Unchecked> {
        let content = self.bytes(path)?;
        Ok(content.map(|content| String::from_utf8_lossy(&content).trim().to_owned()))
    }

    /// The value of a file; `None` if it is absent or empty.
    pub(crate) fn value<T: FromStr>(&self, path: &str) -> Result<Option<T>, Unchecked> {
        let Some(text) = self.text(path)?.filter(|text| !text.is_empty()) else { return Ok(None) };
        let strange = || Unchecked(format!("/{path} contains \"{text}\", which is not understood"));
        text.parse().map(Some).map_err(|_| strange())
    }

    /// The CPU list of a file; `None` if it is absent or empty.
    pub(crate) fn cpus(&self, path: &str) -> Result<Option<CpuSet>, Unchecked> {
        // the kernel writes "(null)" for nohz_full if there is none
        let Some(text) = self.text(path)?.filter(|text| text != "(null)") else { return Ok(None) };
        let strange = |error| Unchecked(format!("/{path}: {error}"));
        let cpus: CpuSet = text.parse().map_err(strange)?;
        Ok((!cpus.is_empty()).then_some(cpus))
    }

    /// The names in a folder, sorted; empty if it is absent.
    pub(crate) fn names(&self, path: &str) -> Result<Vec<String>, Unchecked> {
        let entries = match fs::read_dir(self.folder.join(path)) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            Err(error) => return Err(Unchecked::read(path, &error)),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        Ok(names)
    }

    /// The parts of a folder whose names are `prefix` and a number, by number: `cpu3`, `state1`.
    pub(crate) fn numbered(&self, path: &str, prefix: &str) -> Result<Vec<u32>, Unchecked> {
        let names = self.names(path)?;
        let number = |name: &String| name.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Whether there is such a file or folder.
    pub(crate) fn exists(&self, path: &str) -> bool {
        // a link may lead out of a recorded tree
        let Ok(there) = fs::symlink_metadata(self.folder.join(path)) else { return false };
        let mut reads = self.reads.borrow_mut();
        if there.is_dir() {
            reads.folders.insert(path.to_owned());
        } else {
            reads.contents.entry(path.to_owned()).or_default();
        }
        true
    }
}

/// Whether there is nothing to read: no file, no device, or an attribute without a value.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::EINVAL | libc::EOPNOTSUPP)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    #[test]
    fn absent_is_none_and_forbidden_is_a_reason() {
        let folder = tree(&[("proc/a", "7\n"), ("proc/b", "x"), (DENIED, "proc/b\n")]);
        let root = Root::new(folder.path());
        assert_eq!(root.value::<u32>("proc/a").unwrap(), Some(7));
        assert_eq!(root.value::<u32>("proc/none").unwrap(), None);
        let why = root.text("proc/b").unwrap_err().0;
        assert!(why.starts_with("/proc/b cannot be read") && why.contains("root"), "{why}");
        assert_eq!(root.reads().denied.into_iter().collect::<Vec<_>>(), ["proc/b"]);
        assert_eq!(root.reads().contents["proc/a"], b"7\n");
    }

    #[test]
    fn strange_values_are_named_with_their_file() {
        let folder = tree(&[("n", "seven"), ("c", "3-1"), ("null", "  (null)\n")]);
        let root = Root::new(folder.path());
        assert!(root.value::<u32>("n").unwrap_err().0.contains("/n contains \"seven\""));
        assert!(root.cpus("c").unwrap_err().0.contains("runs backwards"));
        assert_eq!(root.cpus("null").unwrap(), None);
    }

    #[test]
    fn numbered_parts_are_in_order() {
        let folder = tree(&[("cpu/cpu10/x", ""), ("cpu/cpu9/x", ""), ("cpu/cpufreq/x", "")]);
        let root = Root::new(folder.path());
        assert_eq!(root.numbered("cpu", "cpu").unwrap(), [9, 10]);
        assert_eq!(root.numbered("none", "cpu").unwrap(), [0; 0]);
    }
}
