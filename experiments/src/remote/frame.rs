//! Messages on the wire: a length of four bytes, most significant first, then that many bytes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// The connection ended where a message could have begun.
#[derive(Debug, thiserror::Error)]
#[error("it hung up")]
pub(super) struct HungUp;

/// Reads one message.
///
/// # Errors
/// [`HungUp`]; others when it is longer than `limit`, or does not come whole.
pub(super) fn read(from: &mut impl Read, limit: usize) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => HungUp.into(),
        _ => anyhow::Error::new(error),
    })?;
    let length = u32::from_be_bytes(length) as usize;
    ensure!(length <= limit, "a message of {length} bytes, where {limit} is the most");
    let mut message = vec![0; length];
    from.read_exact(&mut message).context("a message that breaks off")?;
    Ok(message)
}

/// Writes one message.
///
/// # Errors
/// When the peer takes it no more.
pub(super) fn write(mut to: impl Write, message: &[u8]) -> Result<()> {
    let length = u32::try_from(message.len()).context("a message beyond all bounds")?;
    // In one piece, so that it leaves in one packet.
    to.write_all(&[&length.to_be_bytes(), message].concat())?;
    Ok(())
}

/// Reads from a connection until a moment, however slowly its bytes drip in.
pub(super) struct Until<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl<'a> Until<'a> {
    /// From now on for `time`.
    pub(super) fn after(stream: &'a TcpStream, time: Duration) -> Self {
        Self { stream, end: Instant::now() + time }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let late = || io::Error::new(ErrorKind::TimedOut, "it was silent for too long");
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
                prop_assert!(read.unwrap_err().to_string().contains("256 is the most"));
            }
        }

        /// Whatever comes is a message within the bounds or an error.
        #[test]
        fn garbage_is_bounded(wire in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Ok(message) = read(&mut wire.as_slice(), 256) {
                prop_assert!(message.len() <= 256);
            }
        }
    }
}
