//! The old values of this host's settings, written to a file before each change. A killed run
//! cannot put them back; the next run does. The file has a line per setting, and is empty if all
//! are put back.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};

use super::was::Was;

/// A reboot removes it, and resets the settings.
pub(crate) const JOURNAL: &str = "/run/steer-bench.journal";

/// The journal. While a copy of it exists, other runs cannot start.
#[derive(Debug, Clone)]
pub(crate) struct Journal(Arc<Locked>);

/// The file, locked until it is dropped.
#[derive(Debug)]
struct Locked(File);

impl Drop for Locked {
    /// A process that is just being started has a copy of the file until it runs its program:
    /// closing ours would leave it locked that long.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Journal {
    /// Opens it. `None` if there is none and none shall be made.
    ///
    /// # Errors
    /// Another run has it open.
    pub(crate) fn open(path: &Path, make: bool) -> Result<Option<Self>> {
        let mut options = OpenOptions::new();
        let file = match options.read(true).append(true).create(make).mode(0o600).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound && !make => return Ok(None),
            file => file.with_context(|| format!("opening {}", path.display()))?,
        };
        flock(&file, FlockOperation::NonBlockingLockExclusive).with_context(|| {
            format!("locking {}: is another steer-bench measuring this host?", path.display())
        })?;
        Ok(Some(Self(Arc::new(Locked(file)))))
    }

    /// Writes down the present value of a setting that is about to be changed.
    pub(super) fn note(&self, was: &Was) -> Result<()> {
        let line = serde_json::to_string(was)? + "\n";
        (&self.0.0).write_all(line.as_bytes()).context("writing to the journal of settings")
    }

    /// The settings that were not put back, in the order of their changes.
    pub(super) fn left(&self) -> Result<Vec<Was>> {
        let mut text = String::new();
        let mut file = &self.0.0;
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.read_to_string(&mut text))
            .context("reading the journal of settings")?;
        // A line without an end is half written. Its setting was not changed yet.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let setting = |line| {
            serde_json::from_str(line)
                .with_context(|| format!("the journal of settings has a line {line:?}"))
        };
        whole.lines().map(setting).collect()
    }

    /// Empties it: everything is put back.
    pub(super) fn clear(&self) -> Result<()> {
        self.0.0.set_len(0).context("emptying the journal of settings")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(value: &str) -> Was {
        Was::File { path: "/proc/sys/x".to_owned(), value: value.to_owned() }
    }

    #[test]
    fn what_was_noted_is_there_for_the_next_run_and_for_no_other_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        assert!(Journal::open(&path, false).unwrap().is_none() && !path.exists());
        let journal = Journal::open(&path, true).unwrap().unwrap();
        assert_eq!(journal.left().unwrap(), []);
        journal.note(&setting("1")).unwrap();
        journal.note(&setting("2")).unwrap();
        let other = Journal::open(&path, true).unwrap_err();
        assert!(format!("{other:#}").contains("is another steer-bench"), "{other:#}");
        let of_a_child = journal.0.0.try_clone().unwrap();
        drop(journal);

        let next = Journal::open(&path, false).unwrap().unwrap();
        assert_eq!(next.left().unwrap(), [setting("1"), setting("2")]);
        next.clear().unwrap();
        assert_eq!(next.left().unwrap(), []);
        next.note(&setting("3")).unwrap();
        assert_eq!(next.left().unwrap(), [setting("3")]);
        drop(of_a_child);
    }

    #[test]
    fn half_a_line_changed_nothing_and_a_strange_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        std::fs::write(&path, "{\"file\":{\"path\":\"/proc/sys/x\",\"value\":\"1\"}}\n{\"fi")
            .unwrap();
        let journal = Journal::open(&path, false).unwrap().unwrap();
        assert_eq!(journal.left().unwrap(), [setting("1")]);
        journal.clear().unwrap();
        std::fs::write(&path, "rm -rf /\n").unwrap();
        assert!(format!("{:#}", journal.left().unwrap_err()).contains("rm -rf"));
    }
}
