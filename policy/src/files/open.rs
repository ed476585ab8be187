//! Opens one file so that it can neither block nor be swapped for another, and checks the opened
//! file itself.

use std::{
    fs::{self, Metadata},
    io::Read,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

use super::MAX_FILE_BYTES;

/// Write permission bits of group and others.
const GROUP: u32 = 0o020;
const OTHERS: u32 = 0o002;

/// Reads `path`, whose last component is not a link. The error says why it cannot be a policy
/// file.
pub(super) fn read(path: &Path) -> Result<(Metadata, String), String> {
    // NONBLOCK: otherwise, opening a named pipe would wait for a writer.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(|error| format!("cannot be read: {error}"))?;
    let metadata = file.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    if !metadata.is_file() {
        return Err("not a regular file; allowed: files, and links to files in the folder".into());
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read, so the limit applies to the bytes read.
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!(
            "larger than {} MiB, the limit for a policy file",
            MAX_FILE_BYTES >> 20
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is not UTF-8; a TOML file must be UTF-8")
    })?;
    Ok((metadata, text))
}

/// Says who, besides root and the caller, can change the file or folder of `metadata`.
pub(super) fn distrust(metadata: &Metadata) -> Option<String> {
    let what = if metadata.is_dir() { "folder" } else { "file" };
    let (mode, uid) = (metadata.mode(), metadata.uid());
    let own = rustix::process::geteuid().as_raw();
    if uid != 0 && uid != own {
        return Some(format!(
            "the {what} belongs to user {uid}, who could change the policy; allowed: root and the \
             user scx_steer runs as (chown root)"
        ));
    }
    let who = match (mode & GROUP != 0, mode & OTHERS != 0) {
        (true, true) => "group and others",
        (true, false) => "group",
        (false, true) => "others",
        (false, false) => return None,
    };
    Some(format!(
        "the {what} can be written by {who} (mode {:04o}), who could change the policy; allowed: \
         its owner alone (chmod go-w)",
        mode & 0o7777
    ))
}
