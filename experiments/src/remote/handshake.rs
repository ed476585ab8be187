//! How runner and agent find out that they are of one release and hold the same key. Each chooses a
//! nonce and proves the key over both; the key itself never travels.

use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frame::{self, Until};
use super::key::{self, Key};
use super::protocol::{Answer, Nonce, Opening, VERSION};
use super::session::{self, Receiver, Role, Sender};

/// Longest message of a peer that has not proved anything yet.
const LONGEST: usize = 1024;
/// Longest time for each of its messages.
const STEP: Duration = Duration::from_secs(5);
/// Names what the key is used for, so that a proof is of no use elsewhere.
const PURPOSE: &[u8] = b"steer-bench agent";

/// The runner's part.
///
/// # Errors
/// When the agent refuses, is of another release, or does not hold the key itself.
pub(super) fn as_runner(stream: TcpStream, key: &Key) -> Result<(Sender, Receiver)> {
    prepare(&stream)?;
    let own = key::random()?;
    say(&stream, &Opening::Hello { version: VERSION.to_owned(), nonce: own })?;
    let (version, theirs) = match hear(&stream)? {
        Answer::Challenge { version, nonce } => (version, nonce),
        Answer::Refused(reason) => bail!("the agent refuses: {}", plain(&reason)),
        Answer::Proof(_) => bail!("the agent proves what it was not asked"),
    };
    same_release(&version, "the agent")?;
    let nonces = Nonces { runner: own, agent: theirs };
    say(&stream, &Opening::Proof(nonces.proof(key, Role::Runner)))?;
    match hear(&stream)? {
        Answer::Proof(tag) => ensure!(
            nonces.is_proof(key, Role::Agent, &tag),
            "who listens there does not hold this key: it is not your agent"
        ),
        Answer::Refused(reason) => bail!("the agent refuses: {}", plain(&reason)),
        Answer::Challenge { .. } => bail!("the agent asks twice for a proof"),
    }
    session::begin(stream, nonces.session(key), Role::Runner)
}

/// The agent's part; the runner is told why, if it is refused.
///
/// # Errors
/// When the peer is refused.
pub(super) fn as_agent(stream: TcpStream, key: &Key) -> Result<(Sender, Receiver)> {
    prepare(&stream)?;
    match prove(&stream, key) {
        Ok(session) => session::begin(stream, session, Role::Agent),
        Err(error) => {
            // It may be gone already.
            let _ = say(&stream, &Answer::Refused(format!("{error:#}")));
            Err(error)
        }
    }
}

/// Gives the key of the session.
fn prove(stream: &TcpStream, key: &Key) -> Result<Key> {
    let Opening::Hello { version, nonce } = hear(stream)? else { bail!("a proof before a hello") };
    same_release(&version, "the runner")?;
    let nonces = Nonces { runner: nonce, agent: key::random()? };
    say(stream, &Answer::Challenge { version: VERSION.to_owned(), nonce: nonces.agent })?;
    let Opening::Proof(tag) = hear(stream)? else { bail!("a second hello") };
    ensure!(
        nonces.is_proof(key, Role::Runner, &tag),
        "wrong key; copy the agent's key file to the runner"
    );
    say(stream, &Answer::Proof(nonces.proof(key, Role::Agent)))?;
    Ok(nonces.session(key))
}

/// What makes one connection unlike any other.
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

/// A stranger's words, without what could move a terminal's cursor.
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
    // The parser would repeat a stranger's words.
    let parsed = serde_json::from_slice(&message).ok();
    parsed.context("no steer-bench of this protocol is at the other end")
}

#[cfg(test)]
mod tests;
