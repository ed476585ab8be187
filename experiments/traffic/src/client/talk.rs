//! The protocol on an RPC connection: our own, or that of a well-known server. With such a server,
//! each connection gets the same value or file again and again.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use steer_ground::word::Word;

use crate::wire;
use crate::wire::{Hello, Step};

/// Longest time for a server to answer what comes before the requests.
const PATIENCE: Duration = Duration::from_secs(10);
/// How a successful reply of a web server begins.
const FOUND: &str = "HTTP/1.1 200 OK\r\n";

/// Which server serves the RPCs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// `steer-bench server`: requests and replies of the same size.
    #[default]
    Own,
    /// memcached (text protocol): each connection sets a value of that size, then gets it.
    Memcached,
    /// redis: the same.
    Redis,
    /// A web server: each connection gets the file `/rpc`, which has that size.
    Http,
}

impl Word for Protocol {
    const ALL: &'static [Self] = &[Self::Own, Self::Memcached, Self::Redis, Self::Http];

    fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Memcached => "memcached",
            Self::Redis => "redis",
            Self::Http => "http",
        }
    }
}

/// The requests and replies of one connection, all alike.
pub(super) struct Talk {
    protocol: Protocol,
    /// The key of the value, where there is one. Each connection has its own, as many clients would.
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
    /// The requests of connection `index`.
    pub(super) fn new(protocol: Protocol, index: u32, size: usize) -> Self {
        let key = format!("steer-{index}");
        let (request, head, tail) = match protocol {
            Protocol::Own => Default::default(),
            Protocol::Memcached => {
                (format!("get {key}\r\n"), format!("VALUE {key} 0 {size}\r\n"), "\r\nEND\r\n")
            }
            Protocol::Redis => (array(2, &["GET", &key]), format!("${size}\r\n"), "\r\n"),
            Protocol::Http => {
                ("GET /rpc HTTP/1.1\r\nHost: steer\r\n\r\n".to_owned(), FOUND.to_owned(), "")
            }
        };
        let reply = head.len() + size + tail.len();
        Self { protocol, key, request: request.into_bytes(), head: head.into_bytes(), size, reply }
    }

    /// Exchanges what the protocol wants before the first request. The connection still blocks.
    ///
    /// # Errors
    /// When the server does not take or have the value.
    pub(super) fn open(&mut self, stream: &TcpStream) -> Result<()> {
        let (key, size) = (&self.key, self.size);
        match self.protocol {
            Protocol::Own => {
                let hello = Hello { message: u32::try_from(size)? }.encode();
                // This cannot block: the buffer of a new connection has room.
                wire::send(stream, &hello, &mut 0, hello.len())?;
            }
            Protocol::Memcached => {
                self.store(stream, &format!("set {key} 0 0 {size}"), "STORED")?
            }
            Protocol::Redis => {
                let set = array(3, &["SET", key]);
                self.store(stream, &format!("{set}${size}"), "+OK")?;
            }
            Protocol::Http => self.reply = self.look(stream)?,
        }
        Ok(())
    }

    /// Stores a value: a line, and the value as the next.
    fn store(&self, stream: &TcpStream, line: &str, stored: &str) -> Result<()> {
        let failed = || format!("{} did not store a value", self.protocol.word());
        let mut set = line.as_bytes().to_vec();
        set.extend(b"\r\n");
        set.resize(set.len() + self.size, b'x');
        set.extend(b"\r\n");
        let mut said = String::new();
        exchange(stream, &set)
            .and_then(|mut answer| answer.read_line(&mut said))
            .with_context(failed)?;
        ensure!(said.trim_end() == stored, "{}: {:?}", failed(), said.trim_end());
        Ok(())
    }

    /// Gets the file once. Returns the bytes of the reply: all replies have headers of that length.
    fn look(&self, stream: &TcpStream) -> Result<usize> {
        let failed = || format!("the web server did not send a file /rpc of {} bytes", self.size);
        let mut answer = exchange(stream, &self.request).with_context(failed)?;
        let mut headers = String::new();
        while !headers.ends_with("\r\n\r\n") {
            let more = answer.read_line(&mut headers).with_context(failed)?;
            ensure!(more > 0, "{}: {:?}", failed(), headers);
        }
        let length = format!("content-length: {}", self.size);
        let right = headers.starts_with(FOUND)
            && headers.lines().any(|line| line.eq_ignore_ascii_case(&length));
        ensure!(right, "{}: {:?}", failed(), headers.trim_end());
        io::copy(&mut answer.take(self.size as u64), &mut io::sink()).with_context(failed)?;
        Ok(headers.len() + self.size)
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
            _ => wire::send(stream, &self.request, done, self.request.len()),
        }
    }

    /// Continues to receive a reply; see [`wire::receive`].
    ///
    /// # Errors
    /// When it is not the expected reply: for example, the server has dropped the value.
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
            "{} does not reply with the value: {:?}",
            self.protocol.word(),
            String::from_utf8_lossy(&reply[arrived.start..arrived.end.min(arrived.start + 80)])
        );
        Ok(())
    }
}

/// A request of redis: an array of `length` words, which begins with these.
fn array(length: usize, words: &[&str]) -> String {
    let word = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
    format!("*{length}\r\n") + &words.iter().map(word).collect::<String>()
}

/// Sends bytes. Returns what answers them, both in bounded time.
fn exchange<'a>(mut stream: &'a TcpStream, bytes: &[u8]) -> io::Result<BufReader<&'a TcpStream>> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(bytes)?;
    Ok(BufReader::new(stream))
}
