//! The receiving end of a long flow: what it does with the bytes that arrive.

use std::hint::black_box;
use std::io::{self, Read};
use std::net::TcpStream;

use rustix::net::{RecvFlags, recv};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use steer_ground::word::Word;

/// Bytes asked for at a time, like the large reads of a file transfer.
const READ: usize = 256 << 10;

/// What a receiver does with the payload of long flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reads {
    /// Copy the payload into a buffer, and do not read it.
    #[default]
    Copy,
    /// Copy the payload, and read every byte of it.
    Touch,
    /// Let the kernel drop the payload without copying it.
    Discard,
}

impl Word for Reads {
    const ALL: &'static [Self] = &[Self::Copy, Self::Touch, Self::Discard];

    fn word(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Touch => "touch",
            Self::Discard => "discard",
        }
    }
}

/// Reads from a connection.
#[derive(Debug)]
pub struct Reader {
    reads: Reads,
    buffer: Vec<u8>,
}

impl Reader {
    /// A reader of this kind.
    pub fn new(reads: Reads) -> Self {
        Self { reads, buffer: vec![0; READ] }
    }

    /// Reads what has arrived, or waits for it. Returns the number of bytes, 0 at the end.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn read(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        match self.reads {
            Reads::Copy => stream.read(&mut self.buffer),
            Reads::Touch => {
                let count = stream.read(&mut self.buffer)?;
                black_box(checksum(&self.buffer[..count]));
                Ok(count)
            }
            // Only the length of the buffer matters (tcp(7)).
            Reads::Discard => Ok(recv(stream, self.buffer.as_mut_slice(), RecvFlags::TRUNC)?.1),
        }
    }
}

/// The internet checksum (RFC 1071) before the complement, in this machine's byte order. It stands
/// for software that reads every byte once.
fn checksum(bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    // Adds two 16-bit words at a time. The sum has room for 2^32 additions.
    let word = |bytes: &[u8; 4]| u64::from(u32::from_ne_bytes(*bytes));
    let mut sum = words.iter().map(word).sum::<u64>() + word(&last);
    while sum > u64::from(u16::MAX) {
        sum = (sum & u64::from(u16::MAX)) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;

    proptest! {
        /// RFC 1071 to the letter: 16-bit words, with the carry added after each.
        #[test]
        fn the_checksum_is_that_of_the_rfc(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            let words = bytes.chunks(2).map(|pair| {
                u16::from_ne_bytes([pair[0], pair.get(1).copied().unwrap_or_default()])
            });
            let sum = words.fold(0u16, |sum, word| {
                let (sum, carry) = sum.overflowing_add(word);
                sum + u16::from(carry)
            });
            prop_assert_eq!(checksum(&bytes), sum);
        }
    }

    #[test]
    fn every_kind_of_reader_takes_all_that_was_sent() {
        const SENT: usize = (3 << 20) + 1;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for reads in [Reads::Copy, Reads::Touch, Reads::Discard] {
            let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            let sending = thread::spawn(move || sender.write_all(&vec![7; SENT]).unwrap());
            let mut reader = Reader::new(reads);
            let mut arrived = 0;
            loop {
                match reader.read(&stream).unwrap() {
                    0 => break,
                    count => arrived += count,
                }
            }
            sending.join().unwrap();
            assert_eq!(arrived, SENT, "{reads:?}");
            let copied = reader.buffer.contains(&7);
            assert_eq!(copied, reads != Reads::Discard, "{reads:?}");
        }
    }
}
