//! What is said on an RPC connection: our own protocol, or that of memcached, which is then asked for
//! one value over and over.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::traffic::wire::{self, Hello, Step};

/// Longest time for memcached to take the value.
const PATIENCE: Duration = Duration::from_secs(10);
/// What memcached says when it has.
const STORED: &str = "STORED\r\n";

/// Who serves the RPCs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// `steer-bench server`: requests and replies of the same size.
    #[default]
    Own,
    /// memcached: each connection sets a value of that size, then gets it (text protocol).
    Memcached,
}

/// The requests and replies of one connection, all alike.
pub(super) struct Talk {
    protocol: Protocol,
    /// What names the value; of our own protocol nothing does.
    key: String,
    /// A request; of our own protocol any bytes will do.
    request: Vec<u8>,
    /// How a reply begins.
    head: Vec<u8>,
    /// Bytes of the payload, and of all of a reply.
    size: usize,
    reply: usize,
}

impl Talk {
    /// What connection `index` is to say. The keys differ, as those of a crowd of clients do.
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

    /// Says what comes before the first request, on a connection that still blocks.
    pub(super) fn open(&self, stream: &TcpStream) -> Result<()> {
        let size = self.size;
        match self.protocol {
            Protocol::Own => {
                let hello = Hello { message: u32::try_from(size)? }.encode();
                // A new connection has room for it: this cannot stop.
                wire::send(stream, &hello, &mut 0, hello.len())?;
            }
            Protocol::Memcached => {
                let mut set = format!("set {} 0 0 {size}\r\n", self.key).into_bytes();
                set.resize(set.len() + size, b'x');
                set.extend(b"\r\n");
                let said = exchange(stream, &set).context("memcached did not take a value")?;
                ensure!(said == STORED, "memcached did not take a value: {:?}", said.trim_end());
            }
        }
        Ok(())
    }

    /// Goes on sending a request; see [`wire::send`].
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

    /// Goes on receiving a reply; see [`wire::receive`].
    ///
    /// # Errors
    /// When it is none, but what memcached says of a value that it has no longer, say.
    pub(super) fn receive(
        &self,
        stream: &TcpStream,
        scratch: &mut [u8],
        done: &mut usize,
    ) -> Result<Step> {
        let before = *done;
        let step = wire::receive(stream, scratch, done, self.reply)?;
        // Connections share the buffer, and a long reply starts over in it; a wrong one is short.
        if *done <= scratch.len() {
            self.check(scratch, before..*done)?;
        }
        Ok(step)
    }

    /// Looks whether these bytes are those of a reply, as far as they are of its head.
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

/// Sends bytes and gives the line that is the answer, both in bounded time.
fn exchange(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<String> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(bytes)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}
