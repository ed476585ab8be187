//! What goes over the connections. Long flows are bytes without structure; one that the server sends
//! is asked for with a [`Demand`](super::long::Demand) first. An RPC connection opens with a
//! [`Hello`] that fixes the message size; then requests and replies of that size alternate.

use std::io::{self, ErrorKind, Read, Write};

use anyhow::{Result, bail};

/// Port of the long-flow sink, unless told otherwise.
pub(crate) const LONG_PORT: u16 = 5201;
/// Port where long flows are sent from, unless told otherwise.
pub(crate) const LONG_OUT_PORT: u16 = 5203;
/// Port of the RPC service, unless told otherwise.
pub(crate) const RPC_PORT: u16 = 5202;
/// The largest RPC message in bytes, so that a stray client cannot ask for endless replies.
pub(crate) const MAX_MESSAGE: u64 = 16 << 20;

/// The first bytes on an RPC connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Bytes of every request and every reply.
    pub(crate) message: u32,
}

impl Hello {
    /// Bytes on the wire.
    pub(crate) const LEN: usize = 12;
    const MAGIC: [u8; 8] = *b"steerpc1";

    /// The bytes to send.
    pub(crate) fn encode(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&Self::MAGIC);
        bytes[8..].copy_from_slice(&self.message.to_le_bytes());
        bytes
    }

    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    /// When the peer is no `steer-bench client` of this version, or asks for more than
    /// [`MAX_MESSAGE`].
    pub(crate) fn decode(bytes: [u8; Self::LEN]) -> Result<Self> {
        let [magic @ .., a, b, c, d] = bytes;
        let message = u32::from_le_bytes([a, b, c, d]);
        if magic != Self::MAGIC {
            bail!("the peer does not speak this version of the RPC protocol");
        }
        if message == 0 || u64::from(message) > MAX_MESSAGE {
            bail!("the peer asks for messages of {message} bytes; 1 to {MAX_MESSAGE} are served");
        }
        Ok(Self { message })
    }
}

/// How far a transfer came before the socket stopped it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// All bytes are through.
    Done,
    /// The socket would block; call again when it is ready.
    Blocked,
    /// The peer ended the connection.
    Closed,
}

/// Goes on receiving a message of `size` bytes of which `done` have arrived. The buffer starts over
/// when it is full: only a buffer of the message's size holds it whole.
pub(crate) fn receive(
    mut socket: impl Read,
    buffer: &mut [u8],
    done: &mut usize,
    size: usize,
) -> io::Result<Step> {
    while *done < size {
        let at = *done % buffer.len();
        let end = buffer.len().min(at + size - *done);
        match socket.read(&mut buffer[at..end]) {
            Ok(0) => return Ok(Step::Closed),
            Ok(count) => *done += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return blocked_or(error),
        }
    }
    Ok(Step::Done)
}

/// Goes on sending a message of `size` bytes of which `done` have left, repeating `payload`.
pub(crate) fn send(
    mut socket: impl Write,
    payload: &[u8],
    done: &mut usize,
    size: usize,
) -> io::Result<Step> {
    while *done < size {
        let at = *done % payload.len();
        let end = payload.len().min(at + size - *done);
        match socket.write(&payload[at..end]) {
            Ok(0) => return Ok(Step::Closed),
            Ok(count) => *done += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return blocked_or(error),
        }
    }
    Ok(Step::Done)
}

/// A socket timeout and a full or empty non-blocking socket report the same error kind.
fn blocked_or(error: io::Error) -> io::Result<Step> {
    match error.kind() {
        ErrorKind::WouldBlock => Ok(Step::Blocked),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_survives_the_wire_and_strangers_do_not() {
        let hello = Hello { message: 4096 };
        assert_eq!(Hello::decode(hello.encode()).unwrap(), hello);
        assert!(
            Hello::decode(*b"GET / HTTP/1").unwrap_err().to_string().contains("does not speak")
        );
        let greedy = Hello { message: u32::MAX }.encode();
        assert!(Hello::decode(greedy).unwrap_err().to_string().contains("1 to"));
    }

    /// Gives one byte at a time, with an interruption before each and a pause in the middle.
    struct Trickle {
        left: usize,
        interrupted: bool,
    }

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.interrupted = !self.interrupted;
            if self.interrupted {
                return Err(ErrorKind::Interrupted.into());
            }
            self.left -= 1;
            if self.left == 5 {
                return Err(ErrorKind::WouldBlock.into());
            }
            buffer[0] = 7;
            Ok(1)
        }
    }

    #[test]
    fn short_reads_and_interruptions_lose_nothing() {
        let mut socket = Trickle { left: 11, interrupted: false };
        let (mut buffer, mut done) = ([0; 4], 0);
        let mut go = |done: &mut usize| receive(&mut socket, &mut buffer, done, 10).unwrap();
        assert_eq!((go(&mut done), done), (Step::Blocked, 5));
        assert_eq!((go(&mut done), done), (Step::Done, 10));
        assert_eq!(receive(io::empty(), &mut [0; 4], &mut 0, 1).unwrap(), Step::Closed);
    }
}
