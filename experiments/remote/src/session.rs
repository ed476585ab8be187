//! An authenticated conversation. Every message carries a tag over its direction, its number and
//! its bytes. So nobody on the way can change, repeat or insert a message.

use std::net::{Shutdown, TcpStream};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frame::{self, Until};
use super::key::{BYTES, Key};
use super::protocol::SILENCE;

/// Longest message. A client's report with its latency histogram takes some ten KiB.
const LONGEST: usize = 1 << 20;

/// The side that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Runner,
    Agent,
}

impl Role {
    /// The word in tags. Both words have the same length.
    pub(super) fn word(self) -> &'static [u8] {
        match self {
            Self::Runner => b"runner",
            Self::Agent => b"agent ",
        }
    }

    /// The other one.
    pub(super) fn peer(self) -> Self {
        match self {
            Self::Runner => Self::Agent,
            Self::Agent => Self::Runner,
        }
    }
}

/// The sending end. Dropping it ends the connection.
#[derive(Debug)]
pub(super) struct Sender {
    stream: TcpStream,
    key: Key,
    role: Role,
    sent: u64,
}

/// The receiving end.
#[derive(Debug)]
pub(super) struct Receiver {
    stream: TcpStream,
    key: Key,
    from: Role,
    received: u64,
}

/// Both ends of a conversation with a key of its own.
///
/// # Errors
/// When the process is out of descriptors.
pub(super) fn begin(stream: TcpStream, key: Key, role: Role) -> Result<(Sender, Receiver)> {
    stream.set_write_timeout(Some(SILENCE))?;
    let receiver =
        Receiver { stream: stream.try_clone()?, key: key.clone(), from: role.peer(), received: 0 };
    Ok((Sender { stream, key, role, sent: 0 }, receiver))
}

impl Sender {
    /// Sends a message.
    ///
    /// # Errors
    /// When the peer does not accept it.
    pub(super) fn send(&mut self, message: &impl Serialize) -> Result<()> {
        let message = serde_json::to_vec(message)?;
        let sealed = seal(&self.key, self.role, self.sent, message);
        self.sent += 1;
        frame::write(&self.stream, &sealed)
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // Fails only if the connection has ended already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Receiver {
    /// Receives the next message. It must come within `SILENCE`: a live peer sends beats.
    ///
    /// # Errors
    /// [`frame::HungUp`]. Another error when the peer is silent, or the message is not valid.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> Result<T> {
        let sealed = frame::read(&mut Until::after(&self.stream, SILENCE), LONGEST)?;
        let message = open(&self.key, self.from, self.received, &sealed)?;
        self.received += 1;
        serde_json::from_slice(message).context("a message cannot be parsed")
    }
}

fn seal(key: &Key, from: Role, number: u64, mut message: Vec<u8>) -> Vec<u8> {
    let tag = key.tag(&[from.word(), &number.to_be_bytes(), &message]);
    message.extend(tag);
    message
}

fn open<'a>(key: &Key, from: Role, number: u64, sealed: &'a [u8]) -> Result<&'a [u8]> {
    let split = sealed.len().checked_sub(BYTES).context("a message has no tag")?;
    let (message, tag) = sealed.split_at(split);
    let whole = key.verifies(tag, &[from.word(), &number.to_be_bytes(), message]);
    ensure!(whole, "a message was changed on the way");
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> Key {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        Key::create(&path).unwrap();
        Key::read(&path).unwrap()
    }

    proptest! {
        #[test]
        fn only_the_very_message_is_taken(
            message in prop::collection::vec(any::<u8>(), 0..100),
            at in any::<prop::sample::Index>(),
            flip in 1..=255u8,
        ) {
            let key = key();
            let mut sealed = seal(&key, Role::Agent, 7, message.clone());
            prop_assert_eq!(open(&key, Role::Agent, 7, &sealed).unwrap(), message);
            prop_assert!(open(&key, Role::Runner, 7, &sealed).is_err(), "reflected");
            prop_assert!(open(&key, Role::Agent, 8, &sealed).is_err(), "repeated");
            let at = at.index(sealed.len());
            sealed[at] ^= flip;
            prop_assert!(open(&key, Role::Agent, 7, &sealed).is_err(), "changed");
        }

        #[test]
        fn garbage_is_an_error(sealed in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(open(&key(), Role::Agent, 0, &sealed).is_err());
        }
    }
}
