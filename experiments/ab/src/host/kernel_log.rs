//! The messages of this host's kernel while samples are taken. Reading them here takes them from
//! nobody else.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use steer_lab::guest::complains;

/// Longest record of /dev/kmsg.
const LONGEST: usize = 8192;

/// The kernel's log from now on. Empty if it cannot be read.
pub(super) struct KernelLog(Option<File>);

impl KernelLog {
    /// Starts to follow the log.
    pub(super) fn from_now() -> Self {
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
        let at_end = |mut file: File| file.seek(SeekFrom::End(0)).ok().map(|_| file);
        Self(file.ok().and_then(at_end))
    }

    /// The new lines that report a fault.
    pub(super) fn complaints(&mut self) -> Vec<String> {
        let mut complaints = Vec::new();
        let Some(file) = &mut self.0 else { return complaints };
        let mut record = [0; LONGEST];
        // One read returns one record.
        loop {
            match file.read(&mut record) {
                Ok(0) => return complaints,
                Ok(length) => {
                    let text = String::from_utf8_lossy(&record[..length]).into_owned();
                    // the form: priority,number,time,flags;message, then lines about the device
                    let message = text.split_once(';').map_or("", |(_, message)| message);
                    let line = message.lines().next().unwrap_or_default();
                    if complains(line) {
                        complaints.push(line.to_owned());
                    }
                }
                // A record was overwritten before it was read. The next read returns the oldest one
                // left.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(_) => return complaints,
            }
        }
    }
}
