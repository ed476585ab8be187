//! How many bytes of a connection have arrived, at either end, how long they take, and whether any
//! are missing, from the kernel's TCP_INFO.

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Payload bytes the peer has acknowledged since the connection began. Bytes that merely sit in
/// the send buffer do not count: no clock of ours would tell when they left it.
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

/// The connection's smoothed round-trip time in microseconds. Where a reply carries the
/// acknowledgement of its request, the server's time is in it.
///
/// # Errors
/// When the connection is gone.
pub(super) fn smoothed_rtt_us(stream: &TcpStream) -> io::Result<u32> {
    Ok(tcp_info(stream, offset_of!(libc::tcp_info, tcpi_rtt))?.tcpi_rtt)
}

/// Whether the peer's kernel has yet to acknowledge something that was sent: it is lost, or held up
/// before it.
///
/// # Errors
/// When the connection is gone.
pub(super) fn is_unacknowledged(stream: &TcpStream) -> io::Result<bool> {
    Ok(tcp_info(stream, offset_of!(libc::tcp_info, tcpi_rtt))?.tcpi_unacked > 0)
}

/// What the kernel says of a connection, up to the counter at `counter` at least.
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
    // An older kernel fills only a part of the structure and says how much.
    if (len as usize) < counter + size_of::<u64>() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel counts no payload"));
    }
    // SAFETY: all fields are integers, for which the zeroes it started with are valid.
    Ok(unsafe { info.assume_init() })
}
