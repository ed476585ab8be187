//! Reads small kernel files below a root directory: `/` on the live machine, a recorded tree in
//! tests. A missing file, and a file without a value, is `None`.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::cpuset::CpuSet;
use crate::error::Error;

/// The directory that contains `sys` and `proc`.
#[derive(Clone, Debug)]
pub(crate) struct Root(PathBuf);

impl Root {
    /// The files of the running kernel.
    pub(crate) fn system() -> Root {
        Root(PathBuf::from("/"))
    }

    /// A recorded tree.
    #[cfg(test)]
    pub(crate) fn recorded(directory: &str) -> Root {
        Root(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(directory))
    }

    /// Checks that the kernel's files are mounted at all. Elsewhere, a missing file only means that
    /// the kernel has no value for it.
    pub(crate) fn mounted(self) -> Result<Root, Error> {
        for (directory, filesystem) in [("sys/devices/system", "sysfs"), ("proc/irq", "proc")] {
            let path = self.path(directory);
            if !path.is_dir() {
                return Err(Error::NotMounted { path, filesystem });
            }
        }
        Ok(self)
    }

    /// The full path of `relative`, such as `sys/class/net`.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.0.join(relative)
    }
}

/// Whether a read failed because there is nothing to read: the file is missing, the device
/// disappeared, or an attribute has no value (`speed` of a link that is down).
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::EINVAL | libc::EOPNOTSUPP)
    )
}

/// Turns "nothing to read" into `None`, and keeps other failures as errors.
fn present<T>(path: &Path, result: io::Result<T>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(Error::ReadKernel { path: path.to_owned(), source }),
    }
}

/// The text of a kernel file without its line end; `None` if absent or empty.
pub(crate) fn text(path: &Path) -> Result<Option<String>, Error> {
    let text = present(path, fs::read_to_string(path))?;
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// The number in a kernel file. `None` if absent or negative: the kernel writes "unknown" as -1
/// (`speed`, `numa_node`). Some drivers write an unknown speed as -1 read as unsigned.
pub(crate) fn number(path: &Path) -> Result<Option<u32>, Error> {
    let Some(text) = text(path)? else { return Ok(None) };
    match text.parse::<i64>() {
        Ok(number) => Ok(u32::try_from(number).ok().filter(|&number| number != u32::MAX)),
        Err(_) => {
            Err(Error::BadKernelValue { path: path.to_owned(), text, wanted: "a whole number" })
        }
    }
}

/// The CPU list in a kernel file; `None` if absent or empty.
pub(crate) fn cpus(path: &Path) -> Result<Option<CpuSet>, Error> {
    let Some(text) = text(path)? else { return Ok(None) };
    match text.parse() {
        Ok(cpus) => Ok(Some(cpus)),
        Err(source) => Err(Error::BadKernelCpus { path: path.to_owned(), source }),
    }
}

/// The names in a directory, sorted; empty if it is absent.
pub(crate) fn names(path: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in present(path, fs::read_dir(path))?.into_iter().flatten() {
        let entry = entry.map_err(|source| Error::ReadKernel { path: path.to_owned(), source })?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// The resolved target of a link; `None` if absent.
pub(crate) fn target(path: &Path) -> Result<Option<PathBuf>, Error> {
    present(path, fs::canonicalize(path))
}

/// The last component of a link's target, such as the name of a driver.
pub(crate) fn target_name(path: &Path) -> Result<Option<String>, Error> {
    let target = present(path, fs::read_link(path))?;
    Ok(target.as_deref().and_then(file_name).map(str::to_owned))
}

/// The inode number of the file behind a link; `None` if absent. For a file of `/proc/PID/ns` it is
/// the number of the namespace.
pub(crate) fn inode(path: &Path) -> Result<Option<u32>, Error> {
    let metadata = present(path, fs::metadata(path))?;
    Ok(metadata.and_then(|metadata| u32::try_from(metadata.ino()).ok()))
}

/// The last component of a path, if it is UTF-8.
pub(crate) fn file_name(path: &Path) -> Option<&str> {
    path.file_name().and_then(|name| name.to_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        file
    }

    #[test]
    fn unknown_is_none_never_zero() {
        for unknown in ["-1\n", "4294967295\n", "\n", ""] {
            assert_eq!(number(file(unknown).path()).unwrap(), None, "{unknown:?}");
        }
        assert_eq!(number(file("0\n").path()).unwrap(), Some(0));
        assert_eq!(number(Path::new("no/such/file")).unwrap(), None);
        assert_eq!(cpus(file("\n").path()).unwrap(), None);
        assert_eq!(names(Path::new("no/such/directory")).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn kernel_files_that_are_not_mounted_are_an_error() {
        assert!(Root::recorded("lab-sysfs").mounted().is_ok());
        let error = Root::recorded("no-such-tree").mounted().unwrap_err().to_string();
        assert!(error.contains("no-such-tree/sys/devices/system; mount"), "{error}");
        assert!(error.ends_with("mount -t sysfs none /sys"), "{error}");
    }

    #[test]
    fn a_bad_value_names_its_file() {
        let speed = file("fast\n");
        let error = number(speed.path()).unwrap_err().to_string();
        let path = speed.path().display().to_string();
        assert!(error.starts_with(&path) && error.contains("not a whole number"), "{error}");
        let error = cpus(file("0-x\n").path()).unwrap_err().to_string();
        assert!(error.contains("\"0-x\" is not a CPU number"), "{error}");
    }
}
