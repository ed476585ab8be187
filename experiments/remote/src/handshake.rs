//! Runner and agent check that they are of the same release and hold the same key. Each side
//! chooses a nonce, and proves that it holds the key by a tag over both nonces. The key itself is
//! never sent.

use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frame::{self, Until};
use super::key::{self, Key};
use super::protocol::{Answer, Nonce, Opening, VERSION};
use super::session::{self, Receiver, Role, Sender};

/// Longest message accepted from a peer that has not yet proved that it holds the key.
const LONGEST: usize = 1024;
/// Longest time to wait for each of its messages.
const STEP: Duration = Duration::from_secs(5);
/// Part of every tag: a proof made here is useless for any other purpose.
const PURPOSE: &[u8] = b"steer-bench agent";

/// The runner's part.
///
/// # Errors
/// When the agent refuses, is of another release, or does not hold the key.
pub(super) fn as_runner(stream: TcpStream, key: &Key) -> Result<(Sender, Receiver)> {
    prepare(&stream)?;
    let own = key::random()?;
    say(&stream, &Opening::Hello { version: VERSION.to_owned(), nonce: own })?;
    let (version, theirs) = match hear(&stream)? {
        Answer::Challenge { version, nonce } => (version, nonce),
        Answer::Refused(reason) => bail!("the agent refuses: {}", plain(&reason)),
        Answer::Proof(_) => bail!("the agent sent a proof too early"),
    };
    same_release(&version, "the agent")?;
    let nonces = Nonces { runner: own, agent: theirs };
    say(&stream, &Opening::Proof(nonces.proof(key, Role::Runner)))?;
    match hear(&stream)? {
        Answer::Proof(tag) => ensure!(
            nonces.is_proof(key, Role::Agent, &tag),
            "the program at this address does not hold this key: it is not your agent"
        ),
        Answer::Refused(reason) => bail!("the agent refuses: {}", plain(&reason)),
        Answer::Challenge { .. } => bail!("the agent asked for a proof twice"),
    }
    session::begin(stream, nonces.session(key), Role::Runner)
}

/// The agent's part. A refused runner is told why.
///
/// # Errors
/// When the peer is refused.
pub(super) fn as_agent(stream: TcpStream, key: &Key) -> Result<(Sender, Receiver)> {
    prepare(&stream)?;
    match prove(&stream, key) {
        Ok(session) => session::begin(stream, session, Role::Agent),
        Err(error) => {
            // The runner may be gone already.
            let _ = say(&stream, &Answer::Refused(format!("{error:#}")));
            Err(error)
        }
    }
}

/// Returns the key of the session.
fn prove(stream: &TcpStream, key: &Key) -> Result<Key> {
    let Opening::Hello { version, nonce } = hear(stream)? else {
        bail!("the runner sent a proof before a hello")
    };
    same_release(&version, "the runner")?;
    let nonces = Nonces { runner: nonce, agent: key::random()? };
    say(stream, &Answer::Challenge { version: VERSION.to_owned(), nonce: nonces.agent })?;
    let Opening::Proof(tag) = hear(stream)? else { bail!("the runner sent a second hello") };
    ensure!(
        nonces.is_proof(key, Role::Runner, &tag),
        "wrong key; copy the agent's key file to the runner"
    );
    say(stream, &Answer::Proof(nonces.proof(key, Role::Agent)))?;
    Ok(nonces.session(key))
}

/// Two random numbers that make each connection unique.
struct Nonces {
    runner: Nonce,
    agent: Nonce,
}

impl Nonces {
    fn proof(&self, key: &Key, role: Role) -> key::Tag {
        key.tag(&[PURPOSE, role.word(), &self.runner, &self.agent])
    }

    fn is_proof(&self, key: &Key, role: Role, tag: &[u8]) -> bool {
        key.verifies(tag, &[PURPOSE, role.word(), &self.runner, &self.agent])
    }

    fn session(&self, key: &Key) -> Key {
        key.derive(&[PURPOSE, b"shared", &self.runner, &self.agent])
    }
}

fn same_release(version: &str, whose: &str) -> Result<()> {
    ensure!(
        version == VERSION,
        "{whose} is steer-bench {version:?}, this is {VERSION:?}; use the same release on both hosts"
    );
    Ok(())
}

/// Removes control characters, which could move a terminal's cursor, from a stranger's text.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}

fn prepare(stream: &TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(STEP))?;
    Ok(())
}

fn say(stream: &TcpStream, message: &impl Serialize) -> Result<()> {
    frame::write(stream, &serde_json::to_vec(message)?)
}

fn hear<T: DeserializeOwned>(stream: &TcpStream) -> Result<T> {
    let message = frame::read(&mut Until::after(stream, STEP), LONGEST)?;
    // The parser's error is dropped: it would repeat a stranger's text.
    let parsed = serde_json::from_slice(&message).ok();
    parsed.context("the other end does not speak the protocol of steer-bench agent")
}

#[cfg(test)]
mod tests;
