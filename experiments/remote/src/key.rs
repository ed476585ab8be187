//! The key that runner and agent share: 32 random bytes in a file that only its owner can read.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use steer_ground::text::hex;

/// Bytes of a key, of a nonce and of a tag.
pub(super) const BYTES: usize = 32;
/// An HMAC: proves that the sender holds the key, and that the message is unchanged.
pub(super) type Tag = [u8; BYTES];

/// A key.
#[derive(Clone)]
pub struct Key([u8; BYTES]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Writes a new key to a new file.
    ///
    /// # Errors
    /// When the file exists, or cannot be created.
    pub fn create(path: &Path) -> Result<()> {
        let digits: String = hex(&random()?);
        let name = path.display();
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(path);
        let mut file = file.with_context(|| format!("cannot create the key file {name}"))?;
        writeln!(file, "{digits}").with_context(|| format!("cannot write {name}"))
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// When users other than its owner can read it, or it holds no key.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let file = File::open(path).with_context(|| {
            format!(
                "cannot read the key file {name}; `steer-bench agent --new-key {name}` makes one"
            )
        })?;
        let about = file.metadata().with_context(|| format!("cannot look at {name}"))?;
        ensure!(
            about.mode() & 0o077 == 0,
            "the key file {name} is open to other users (mode {:03o}): `chmod 600 {name}`, and \
             make a new key if they may have read it",
            about.mode() & 0o777
        );
        let mut text = String::new();
        // Enough for a key and some white space. Longer content is not a key.
        let limit = 4 * BYTES as u64;
        file.take(limit).read_to_string(&mut text).with_context(|| format!("reading {name}"))?;
        Self::parse(text.trim()).with_context(|| {
            format!("{name} holds no key; `steer-bench agent --new-key FILE` makes one")
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut key = [0; BYTES];
        let digits = text.as_bytes();
        if digits.len() != 2 * BYTES {
            return None;
        }
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |ascii: u8| char::from(ascii).to_digit(16);
            *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
        }
        Some(Self(key))
    }

    /// The tag of these parts. The lengths of all parts but the last must follow from the first
    /// part. Otherwise two sets of parts could have the same tag.
    pub(super) fn tag(&self, parts: &[&[u8]]) -> Tag {
        self.hmac(parts).finalize().into_bytes().into()
    }

    /// Whether this is the tag of these parts. Takes constant time, whether the tag is right or
    /// wrong.
    pub(super) fn verifies(&self, tag: &[u8], parts: &[&[u8]]) -> bool {
        self.hmac(parts).verify_slice(tag).is_ok()
    }

    /// Derives a key for one conversation.
    pub(super) fn derive(&self, parts: &[&[u8]]) -> Self {
        Self(self.tag(parts))
    }

    fn hmac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        // HMAC takes keys of any length.
        let mut hmac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length");
        parts.iter().for_each(|part| hmac.update(part));
        hmac
    }
}

/// Random bytes from the kernel.
pub(super) fn random() -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).context("the kernel returned no random bytes")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_new_key_is_read_again_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        Key::create(&path).unwrap();
        let key = Key::read(&path).unwrap();
        assert_ne!(key.0, [0; BYTES]);
        assert!(Key::create(&path).is_err());
        assert_eq!(Key::read(&path).unwrap().0, key.0);
    }

    #[test]
    fn a_key_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        Key::create(&path).unwrap();
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let error = Key::read(&path).unwrap_err().to_string();
            assert!(error.contains("is open to other users") && error.contains("chmod 600"));
        }
    }

    #[test]
    fn what_is_no_key_says_so() {
        let (short, long) = ("ab".repeat(31), "ab".repeat(33));
        for bad in ["", "secret", &short, &long, &"zz".repeat(32)] {
            assert!(Key::parse(bad).is_none(), "{bad}");
        }
        let error = Key::read(Path::new("/no/such/key")).unwrap_err().to_string();
        assert!(error.contains("--new-key"), "{error}");
    }

    /// The expected value comes from `openssl dgst -sha256 -mac HMAC`.
    #[test]
    fn tags_are_hmac_sha256() {
        let key = Key::parse(&"0b".repeat(32)).unwrap();
        let tag = key.tag(&[b"Hi ", b"There"]);
        assert_eq!(tag, key.tag(&[b"Hi There"]));
        assert!(key.verifies(&tag, &[b"Hi There"]));
        assert!(!key.verifies(&tag, &[b"Hi There!"]) && !key.verifies(&tag[1..], &[b"Hi There"]));
        assert_eq!(hex(&tag), "198a607eb44bfbc69903a0f1cf2bbdc5ba0aa3f3d9ae3c1c7a3b1696a0b68cf7");
    }
}
