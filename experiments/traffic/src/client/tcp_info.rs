//! Reads the kernel's TCP_INFO of a connection: bytes that arrived at either end, the round-trip
//! time, and whether sent bytes are unacknowledged.

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Payload bytes that the peer has acknowledged since the connection began. Bytes in the send
/// buffer do not count: we could not tell when they leave it.
///
/// # Errors
/// When the kernel does not report them (before Linux 4.1).
pub(super) fn bytes_acked(stream: &TcpStream) -> io::Result<u64> {
    Ok(tcp_info(stream, offset_of!(libc::tcp_info, tcpi_bytes_acked))?.tcpi_bytes_acked)
}

/// Payload bytes that have arrived from the peer since the connection began, read or not.
///
/// # Errors
/// When the kernel does not report them (before Linux 4.1).
pub(super) fn bytes_received(stream: &TcpStream) -> io::Result<u64> {
    Ok(tcp_info(stream, offset_of!(libc::tcp_info, tcpi_bytes_received))?.tcpi_bytes_received)
}

/// The connection's smoothed round-trip time in microseconds. If a reply carries the
/// acknowledgement of its request, this includes the server's time.
///
/// # Errors
/// When the connection has ended.
pub(super) fn smoothed_rtt_us(stream: &TcpStream) -> io::Result<u32> {
    Ok(tcp_info(stream, offset_of!(libc::tcp_info, tcpi_rtt))?.tcpi_rtt)
}

/// Whether the peer's kernel has not acknowledged everything that was sent: something is lost, or
/// delayed on the way.
///
/// # Errors
/// When the connection has ended.
pub(super) fn is_unacknowledged(stream: &TcpStream) -> io::Result<bool> {
    Ok(tcp_info(stream, offset_of!(libc::tcp_info, tcpi_rtt))?.tcpi_unacked > 0)
}

/// Reads TCP_INFO of a connection. It contains at least the counter at offset `counter`.
fn tcp_info(stream: &TcpStream, counter: usize) -> io::Result<libc::tcp_info> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: `info` is writable for `len` bytes, and the descriptor is open while `stream` lives.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut len,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // An older kernel fills only a part of the structure, and returns its length.
    if (len as usize) < counter + size_of::<u64>() {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this kernel does not count payload bytes",
        ));
    }
    // SAFETY: all fields are integers, for which the zeroes it started with are valid.
    Ok(unsafe { info.assume_init() })
}
