//! Messages on the wire: a length of four bytes in network byte order, then that many bytes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// The connection ended between two messages.
#[derive(Debug, thiserror::Error)]
#[error("the peer closed the connection")]
pub(super) struct HungUp;

/// Reads one message.
///
/// # Errors
/// [`HungUp`]. Another error when the message is longer than `limit`, or incomplete.
pub(super) fn read(from: &mut impl Read, limit: usize) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => HungUp.into(),
        _ => anyhow::Error::new(error),
    })?;
    let length = u32::from_be_bytes(length) as usize;
    ensure!(length <= limit, "a message of {length} bytes is longer than the limit of {limit}");
    let mut message = vec![0; length];
    from.read_exact(&mut message).context("a message is incomplete")?;
    Ok(message)
}

/// Writes one message.
///
/// # Errors
/// When the peer does not accept it.
pub(super) fn write(mut to: impl Write, message: &[u8]) -> Result<()> {
    let length = u32::try_from(message.len()).context("a message is longer than 4 GiB")?;
    // One write, so that it leaves in one packet.
    to.write_all(&[&length.to_be_bytes(), message].concat())?;
    Ok(())
}

/// Reads from a connection until a deadline, however slowly its bytes arrive.
pub(super) struct Until<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl<'a> Until<'a> {
    /// The deadline is `time` from now.
    pub(super) fn after(stream: &'a TcpStream, time: Duration) -> Self {
        Self { stream, end: Instant::now() + time }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let late = || io::Error::new(ErrorKind::TimedOut, "the peer was silent for too long");
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(buffer).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(message in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut wire = Vec::new();
            write(&mut wire, &message).unwrap();
            let read = read(&mut wire.as_slice(), 256);
            if message.len() <= 256 {
                prop_assert_eq!(read.unwrap(), message);
            } else {
                prop_assert!(read.unwrap_err().to_string().contains("longer than the limit of 256"));
            }
        }

        /// Any input gives a message within the limit, or an error.
        #[test]
        fn garbage_is_bounded(wire in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Ok(message) = read(&mut wire.as_slice(), 256) {
                prop_assert!(message.len() <= 256);
            }
        }
    }
}
