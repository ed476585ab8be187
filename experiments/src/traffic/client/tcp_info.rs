//! How many bytes of a connection have reached the peer, from the kernel's TCP_INFO.

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
    if (len as usize) < offset_of!(libc::tcp_info, tcpi_bytes_acked) + size_of::<u64>() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel counts no acked bytes"));
    }
    // SAFETY: all fields are integers, for which the zeroes it started with are valid.
    Ok(unsafe { info.assume_init() }.tcpi_bytes_acked)
}
