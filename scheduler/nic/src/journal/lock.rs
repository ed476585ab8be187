//! One at a time: whoever changes settings holds a lock on a file beside the journal.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::{FlockOperation, flock};

use super::Store;
use crate::error::Error;

/// The right to change settings, until it is dropped or its process ends.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    /// A process that is just being started has a copy of the file until it runs its program:
    /// closing ours would leave it locked that long.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Store {
    /// Takes the lock.
    ///
    /// # Errors
    /// Another program has it, or there is no place for the file.
    pub fn lock(&self) -> Result<Lock, Error> {
        let path = self.folder().join("lock");
        let fault = |cause| Error::Journal { path: path.clone(), cause };
        fs::create_dir_all(self.folder()).map_err(fault)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(fault)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            return Err(Error::Busy { pid: pid.trim().parse().ok() });
        }
        // Who has it is a help to others, not a must: the disk may be full.
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = writeln!(file, "{}", std::process::id());
        Ok(Lock(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_boot(folder.path(), "boot");
        let lock = store.lock().unwrap();
        let refusal = store.lock().unwrap_err().to_string();
        assert!(refusal.contains(&format!("process {}", std::process::id())), "{refusal}");
        let of_a_child = lock.0.try_clone().unwrap();
        drop(lock);
        store.lock().unwrap();
        drop(of_a_child);
    }
}
