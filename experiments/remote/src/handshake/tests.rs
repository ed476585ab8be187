//! The handshake between two threads, and against peers that break the protocol.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::protocol::{Reply, Request};

fn key() -> Key {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    Key::create(&path).unwrap();
    Key::read(&path).unwrap()
}

/// Two ends of one connection.
fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

#[test]
fn both_ends_can_talk_afterwards() {
    let (key, (near, far)) = (key(), connection());
    let theirs = key.clone();
    let agent = thread::spawn(move || {
        let (mut sender, mut receiver) = as_agent(far, &theirs).unwrap();
        assert!(matches!(receiver.receive().unwrap(), Request::Beat));
        sender.send(&Reply::Warm).unwrap();
    });
    let (mut sender, mut receiver) = as_runner(near, &key).unwrap();
    sender.send(&Request::Beat).unwrap();
    assert!(matches!(receiver.receive().unwrap(), Reply::Warm));
    agent.join().unwrap();
}

#[test]
fn a_wrong_key_is_said_on_both_sides() {
    let (near, far) = connection();
    let agent = thread::spawn(move || as_agent(far, &key()).unwrap_err().to_string());
    let error = as_runner(near, &key()).unwrap_err().to_string();
    assert!(error.contains("the agent refuses: wrong key"), "{error}");
    assert!(agent.join().unwrap().contains("wrong key"));
}

#[test]
fn another_release_is_said_on_both_sides() {
    let (near, far) = connection();
    let agent = thread::spawn(move || as_agent(far, &key()).unwrap_err().to_string());
    say(&near, &Opening::Hello { version: "0.0.9".to_owned(), nonce: [1; key::BYTES] }).unwrap();
    let Answer::Refused(reason) = hear(&near).unwrap() else { panic!("it was let in") };
    let said = agent.join().unwrap();
    assert_eq!(reason, said);
    assert!(said.contains("the runner is steer-bench \"0.0.9\""), "{said}");

    let (near, far) = connection();
    let runner = thread::spawn(move || as_runner(near, &key()).unwrap_err().to_string());
    let _: Opening = hear(&far).unwrap();
    say(&far, &Answer::Challenge { version: "9.0.0".to_owned(), nonce: [1; key::BYTES] }).unwrap();
    let said = runner.join().unwrap();
    assert!(said.contains("the agent is steer-bench \"9.0.0\""), "{said}");
}

#[test]
fn strangers_words_do_not_reach_the_terminal_as_they_are() {
    let (near, far) = connection();
    let runner = thread::spawn(move || as_runner(near, &key()).unwrap_err().to_string());
    let _: Opening = hear(&far).unwrap();
    say(&far, &Answer::Refused("\u{1b}[2Jno".to_owned())).unwrap();
    assert_eq!(runner.join().unwrap(), "the agent refuses: [2Jno");

    let (near, far) = connection();
    let agent = thread::spawn(move || format!("{:#}", as_agent(far, &key()).unwrap_err()));
    frame::write(&near, b"{\"\\u001b[2J\": 1}").unwrap();
    let said = agent.join().unwrap();
    assert_eq!(said, "the other end does not speak the protocol of steer-bench agent");
}

#[test]
fn a_stranger_that_reflects_the_proof_is_no_agent() {
    let (near, far) = connection();
    let runner = thread::spawn(move || as_runner(near, &key()).unwrap_err().to_string());
    let Opening::Hello { version, nonce } = hear(&far).unwrap() else { panic!("no hello") };
    say(&far, &Answer::Challenge { version, nonce }).unwrap();
    let Opening::Proof(tag) = hear(&far).unwrap() else { panic!("no proof") };
    say(&far, &Answer::Proof(tag)).unwrap();
    let said = runner.join().unwrap();
    assert!(said.contains("does not hold this key"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Garbage from a peer is refused in bounded time, and nothing panics.
    #[test]
    fn garbage_is_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        framed in any::<bool>(),
        hello in any::<bool>(),
    ) {
        let (mut near, far) = connection();
        let agent = thread::spawn(move || as_agent(far, &key()).is_err());
        if hello {
            let version = VERSION.to_owned();
            say(&near, &Opening::Hello { version, nonce: [0; key::BYTES] }).unwrap();
        }
        // All may fail: the agent closes as soon as it has read something that it refuses.
        let _ = if framed { frame::write(&near, &bytes).ok() } else { near.write_all(&bytes).ok() };
        let _ = near.shutdown(std::net::Shutdown::Write);
        prop_assert!(agent.join().unwrap());
        // Fails with a reset if the agent left bytes unread.
        let _ = near.read_to_end(&mut Vec::new());
    }
}
