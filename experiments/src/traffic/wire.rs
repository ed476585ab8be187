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
/// RPC connections of one client address that share a server port. No more than a listener's backlog
/// holds by default (net.core.somaxconn), so that even a server that does not get to accept loses none;
/// and little enough that all of them have source ports above those of the long flows. A multiple of
/// every power of two up to 32, so that the next port's connections meet the same queues.
pub(crate) const CONNECTIONS_PER_PORT: u32 = 4000;
/// From the first RPC port to the one before the second: behind all ports that programs of an
/// experiment listen on, and before those that a kernel gives to clients.
const FURTHER_PORTS: u32 = 6800;
/// The largest RPC message in bytes, so that a stray client cannot ask for endless replies.
pub(crate) const MAX_MESSAGE: u64 = 16 << 20;

/// How many ports so many RPC connections of one client address need; one at least.
pub(crate) fn rpc_ports(connections: u32) -> u32 {
    connections.div_ceil(CONNECTIONS_PER_PORT).max(1)
}

/// A port of the RPC service, by its number from 0 on, when the first of them is `first`; `None` where
/// there is no such port.
pub(crate) fn rpc_port(first: u16, number: u32) -> Option<u16> {
    let offset = if number == 0 { 0 } else { FURTHER_PORTS.checked_add(number)? };
    u16::try_from(offset.checked_add(first.into())?).ok()
}

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
    fn further_rpc_ports_collide_with_nothing() {
        let ports: Vec<_> =
            (0..rpc_ports(300_000)).map(|n| rpc_port(RPC_PORT, n).unwrap()).collect();
        assert_eq!((ports[0], ports.len()), (RPC_PORT, 75));
        // Redis has one for each of its instances from 6379 on, iperf3 for each flow from 5301 on;
        // nginx 8080, memcached 11211. The kernel's own choice begins at 32768, the lab's at 20000.
        assert!(ports[1..].iter().all(|port| (11_212..20_000).contains(port)), "{ports:?}");
        assert!(ports.windows(2).all(|two| two[0] < two[1]));
        assert_eq!((rpc_ports(0), rpc_ports(4000), rpc_ports(4001)), (1, 1, 2));
        assert_eq!((rpc_port(60_000, 0), rpc_port(60_000, 1)), (Some(60_000), None));
    }

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
