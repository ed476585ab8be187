//! The journal's file: one line that says what it is, with a checksum, then JSON. Written whole,
//! synchronised, then put in place of the one before: there is always a complete one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::Journal;
use crate::error::Error;

/// The format's name and version.
const MAGIC: &str = "scx_steer nic journal 1";

/// Where the journal is kept.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    boot: String,
}

/// What is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing: no setting is changed.
    Nothing,
    /// A journal of this boot.
    Journal(Journal),
    /// One of an earlier boot: its settings ended with that.
    OldBoot(Journal),
}

impl Store {
    /// The journal in `folder`, by the number the kernel gave this boot.
    ///
    /// # Errors
    /// The kernel does not say which boot this is.
    pub fn open(folder: &Path) -> Result<Store, Error> {
        let path = Path::new("/proc/sys/kernel/random/boot_id");
        match fs::read_to_string(path) {
            Ok(boot) => Ok(Store::of_boot(folder, boot.trim())),
            Err(cause) => Err(Error::Journal { path: path.to_owned(), cause }),
        }
    }

    /// The journal in `folder` of a certain boot.
    pub(crate) fn of_boot(folder: &Path, boot: &str) -> Store {
        Store { folder: folder.to_owned(), boot: boot.to_owned() }
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// The boot that this is.
    pub(crate) fn boot(&self) -> &str {
        &self.boot
    }

    /// Reads it.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn load(&self) -> Result<Found, Error> {
        let path = self.path();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(Error::DamagedJournal { path, why: "it is not text".into() });
            }
            Err(cause) => return Err(Error::Journal { path, cause }),
        };
        let journal = parse(&text).map_err(|why| Error::DamagedJournal { path, why })?;
        let this_boot = journal.boot == self.boot;
        Ok(if this_boot { Found::Journal(journal) } else { Found::OldBoot(journal) })
    }

    /// Writes it. When this returns it is on disk.
    ///
    /// # Errors
    /// It is not; the one before is still in place.
    pub(crate) fn save(&self, journal: &Journal) -> Result<(), Error> {
        let fault = |cause| Error::Journal { path: self.path(), cause };
        fs::create_dir_all(&self.folder).map_err(fault)?;
        let new = self.folder.join("journal.new");
        let written = write(&new, journal).and_then(|()| fs::rename(&new, self.path()));
        if written.is_err() {
            // half a file is of no use, and takes room
            let _ = fs::remove_file(&new);
        }
        written.and_then(|()| File::open(&self.folder)?.sync_all()).map_err(fault)
    }

    /// Removes it: everything is put back.
    ///
    /// # Errors
    /// It is still there.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        let fault = |cause| Error::Journal { path: self.path(), cause };
        match fs::remove_file(self.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault(error)),
            _ => Ok(()),
        }
    }
}

fn write(path: &Path, journal: &Journal) -> io::Result<()> {
    let body = serde_json::to_string_pretty(journal).map_err(io::Error::other)?;
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{MAGIC} {:016x}\n{body}", checksum(&body))?;
    file.sync_all()
}

fn parse(text: &str) -> Result<Journal, String> {
    let (head, body) = text.split_once('\n').ok_or("it has one line only")?;
    let body = body.strip_suffix('\n').ok_or("its end is missing")?;
    let sum = head.strip_prefix(MAGIC).ok_or_else(|| format!("it does not begin with {MAGIC}"))?;
    if sum != format!(" {:016x}", checksum(body)) {
        return Err("its checksum is wrong".into());
    }
    serde_json::from_str(body).map_err(|error| error.to_string())
}

/// FNV-1a: against damage, not against intent.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::births::Births;
    use proptest::prelude::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_boot(&folder.path().join("run"), "boot-1");
        (folder, store)
    }

    #[test]
    fn it_reads_back_and_is_gone_when_removed() {
        let (_folder, store) = store();
        assert_eq!(store.load().unwrap(), Found::Nothing);
        store.remove().unwrap();
        let journal = Journal::new("boot-1", Births::new());
        store.save(&journal).unwrap();
        assert_eq!(store.load().unwrap(), Found::Journal(journal));
        store.remove().unwrap();
        assert_eq!(store.load().unwrap(), Found::Nothing);
    }

    #[test]
    fn one_of_an_earlier_boot_is_told_apart() {
        let (_folder, store) = store();
        store.save(&Journal::new("boot-0", Births::new())).unwrap();
        assert_eq!(store.load().unwrap(), Found::OldBoot(Journal::new("boot-0", Births::new())));
    }

    #[test]
    fn where_it_cannot_be_written_that_is_said() {
        let store = Store::of_boot(Path::new("/proc/no-such-folder"), "boot-1");
        let error = store.save(&Journal::new("boot-1", Births::new())).unwrap_err().to_string();
        assert!(error.starts_with("cannot keep the journal /proc/no-such-folder"), "{error}");
        assert!(error.ends_with("nothing was changed"), "{error}");
    }

    proptest! {
        /// A journal cut short or with any byte changed is never taken for a good one.
        #[test]
        fn damage_is_noticed(at in 0.0..1.0f64, byte in any::<u8>(), cut in any::<bool>()) {
            let (_folder, store) = store();
            store.save(&Journal::new("boot-1", Births::new())).unwrap();
            let mut bytes = fs::read(store.path()).unwrap();
            let at = (at * bytes.len() as f64) as usize;
            prop_assume!(cut || bytes[at] != byte);
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            fs::write(store.path(), bytes).unwrap();
            let noticed = matches!(store.load(), Err(Error::DamagedJournal { .. }));
            prop_assert!(noticed);
        }
    }
}
