//! The protocols on the connections. A long flow is bytes without structure; if the server sends
//! it, the client first asks with a [`Demand`](super::long::Demand). An RPC connection opens with a
//! [`Hello`] that fixes the message size. Then requests and replies of that size alternate.

use std::io::{self, ErrorKind, Read, Write};

use anyhow::{Result, bail};

/// Default port of the long-flow sink.
pub const LONG_PORT: u16 = 5201;
/// Default port of the long-flow source.
pub const LONG_OUT_PORT: u16 = 5203;
/// Default port of the RPC service.
pub const RPC_PORT: u16 = 5202;
/// How many RPC connections of one client address share a server port. A listener's default backlog
/// (net.core.somaxconn) holds as many, so none is lost even if the server is slow to accept. All of
/// them have room for source ports above those of the long flows. It is a multiple of 32, so that
/// the connections of the next port meet the same queues.
pub(crate) const CONNECTIONS_PER_PORT: u32 = 4000;
/// The second RPC port is this far, plus one, above the first. This is above all ports that
/// programs of an experiment listen on, and below the ports that the kernel gives to clients.
const FURTHER_PORTS: u32 = 6800;
/// The largest RPC message in bytes, so that a stray client cannot ask for endless replies.
pub const MAX_MESSAGE: u64 = 16 << 20;

/// How many ports this many RPC connections of one client address need; at least one.
pub(crate) fn rpc_ports(connections: u32) -> u32 {
    connections.div_ceil(CONNECTIONS_PER_PORT).max(1)
}

/// The port of the RPC service with this number, counted from 0, if the first one is `first`.
/// `None` if it would be above 65535.
pub(crate) fn rpc_port(first: u16, number: u32) -> Option<u16> {
    let offset = if number == 0 { 0 } else { FURTHER_PORTS.checked_add(number)? };
    u16::try_from(offset.checked_add(first.into())?).ok()
}

/// The first bytes on an RPC connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Bytes of every request and every reply.
    pub message: u32,
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
    /// When the peer is not a `steer-bench client` of this version, or asks for more than
    /// [`MAX_MESSAGE`].
    pub(crate) fn decode(bytes: [u8; Self::LEN]) -> Result<Self> {
        let [magic @ .., a, b, c, d] = bytes;
        let message = u32::from_le_bytes([a, b, c, d]);
        if magic != Self::MAGIC {
            bail!("the peer does not speak this version of the RPC protocol");
        }
        if message == 0 || u64::from(message) > MAX_MESSAGE {
            bail!("the peer asks for messages of {message} bytes; 1 to {MAX_MESSAGE} are allowed");
        }
        Ok(Self { message })
    }
}

/// How far a transfer got before the socket blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// All bytes are sent or received.
    Done,
    /// The socket would block; call again when it is ready.
    Blocked,
    /// The peer closed the connection.
    Closed,
}

/// Continues to receive a message of `size` bytes; `done` of them have arrived. A full buffer is
/// overwritten from its start: only a buffer of the message's size holds the whole message.
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

/// Continues to send a message of `size` bytes; `done` of them are sent. The message repeats
/// `payload`.
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

/// A socket timeout, and a non-blocking socket that is full or empty, report the same error kind.
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
        // Ports in use: Redis from 6379 (one per instance), iperf3 from 5301 (one per flow), nginx
        // 8080, memcached 11211. The kernel's own choice starts at 32768, the lab's at 20000.
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

    /// Returns one byte at a time, with an interrupt before each and a pause in the middle.
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
