//! The protocol on an RPC connection: our own, or memcached's. With memcached, each connection gets
//! the same value again and again.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use steer_ground::word::Word;

use crate::wire;
use crate::wire::{Hello, Step};

/// Longest time for memcached to store the value.
const PATIENCE: Duration = Duration::from_secs(10);
/// What memcached replies when it has stored the value.
const STORED: &str = "STORED\r\n";

/// Which server serves the RPCs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// `steer-bench server`: requests and replies of the same size.
    #[default]
    Own,
    /// memcached (text protocol): each connection sets a value of that size, then gets it.
    Memcached,
}

impl Word for Protocol {
    const ALL: &'static [Self] = &[Self::Own, Self::Memcached];

    fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Memcached => "memcached",
        }
    }
}

/// The requests and replies of one connection, all alike.
pub(super) struct Talk {
    protocol: Protocol,
    /// The key of the value. Our own protocol has none.
    key: String,
    /// A request. In our own protocol, any bytes will do.
    request: Vec<u8>,
    /// The first bytes of a reply.
    head: Vec<u8>,
    /// Bytes of the payload (`size`), and of a whole reply (`reply`).
    size: usize,
    reply: usize,
}

impl Talk {
    /// The requests of connection `index`. Each connection has its own key, as many clients would.
    pub(super) fn new(protocol: Protocol, index: u32, size: usize) -> Self {
        let (key, request, head, tail) = match protocol {
            Protocol::Own => Default::default(),
            Protocol::Memcached => {
                let key = format!("steer-{index}");
                let (request, head) =
                    (format!("get {key}\r\n"), format!("VALUE {key} 0 {size}\r\n"));
                (key, request.into_bytes(), head.into_bytes(), "\r\nEND\r\n")
            }
        };
        let reply = head.len() + size + tail.len();
        Self { protocol, key, request, head, size, reply }
    }

    /// Sends what the protocol wants before the first request. The connection still blocks.
    pub(super) fn open(&self, stream: &TcpStream) -> Result<()> {
        let size = self.size;
        match self.protocol {
            Protocol::Own => {
                let hello = Hello { message: u32::try_from(size)? }.encode();
                // This cannot block: the buffer of a new connection has room.
                wire::send(stream, &hello, &mut 0, hello.len())?;
            }
            Protocol::Memcached => {
                let mut set = format!("set {} 0 0 {size}\r\n", self.key).into_bytes();
                set.resize(set.len() + size, b'x');
                set.extend(b"\r\n");
                let said = exchange(stream, &set).context("memcached did not store a value")?;
                ensure!(said == STORED, "memcached did not store a value: {:?}", said.trim_end());
            }
        }
        Ok(())
    }

    /// Continues to send a request; see [`wire::send`].
    pub(super) fn send(
        &self,
        stream: &TcpStream,
        scratch: &[u8],
        done: &mut usize,
    ) -> io::Result<Step> {
        match self.protocol {
            Protocol::Own => wire::send(stream, scratch, done, self.size),
            Protocol::Memcached => wire::send(stream, &self.request, done, self.request.len()),
        }
    }

    /// Continues to receive a reply; see [`wire::receive`].
    ///
    /// # Errors
    /// When it is not the expected reply: for example, memcached has dropped the value.
    pub(super) fn receive(
        &self,
        stream: &TcpStream,
        scratch: &mut [u8],
        done: &mut usize,
    ) -> Result<Step> {
        let before = *done;
        let step = wire::receive(stream, scratch, done, self.reply)?;
        // Check the head now: connections share the buffer, and a long reply overwrites it. A wrong
        // reply is short.
        if *done <= scratch.len() {
            self.check(scratch, before..*done)?;
        }
        Ok(step)
    }

    /// Checks the arrived bytes against the head of a reply, as far as they belong to it.
    fn check(&self, reply: &[u8], arrived: Range<usize>) -> Result<()> {
        let of_head = arrived.start..arrived.end.min(self.head.len());
        let right = of_head.is_empty() || reply[of_head.clone()] == self.head[of_head];
        ensure!(
            right,
            "memcached does not reply with the value: {:?}",
            String::from_utf8_lossy(&reply[arrived.start..arrived.end.min(arrived.start + 80)])
        );
        Ok(())
    }
}

/// Sends bytes and returns the line that answers them, both in bounded time.
fn exchange(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<String> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(bytes)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}
