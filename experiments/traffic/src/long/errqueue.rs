//! The kernel's interface for MSG_ZEROCOPY: a socket option that allows it, and notices on the
//! socket's error queue (Documentation/networking/msg_zerocopy.rst).

use std::io::{self, ErrorKind};
use std::mem::{size_of, size_of_val, zeroed};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// The origin that marks a message on the error queue as a notice (linux/errqueue.h).
const ORIGIN_ZEROCOPY: u8 = 5;
/// The code of a notice that says: the kernel had to copy after all (linux/errqueue.h).
const CODE_COPIED: u8 = 1;

/// A notice: the kernel no longer needs the payload of some sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Notice {
    /// How many sends.
    pub(super) sends: u32,
    /// Whether it copied them.
    pub(super) copied: bool,
}

impl Notice {
    /// The notice in a message of the error queue; `None` when it is something else.
    fn of(message: &libc::sock_extended_err) -> Option<Self> {
        (message.ee_origin == ORIGIN_ZEROCOPY && message.ee_errno == 0).then(|| Self {
            // Sends are numbered, and the numbers wrap around. A range includes both its ends.
            sends: message.ee_data.wrapping_sub(message.ee_info).wrapping_add(1),
            copied: message.ee_code == CODE_COPIED,
        })
    }
}

/// Allows MSG_ZEROCOPY.
///
/// # Errors
/// On kernels before Linux 4.14.
pub(super) fn allow(stream: &TcpStream) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: `on` is readable for its own size, and the descriptor is open while `stream` lives.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ZEROCOPY,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The next notice, if there is one. Does not wait.
///
/// # Errors
/// When there is something else on the error queue.
pub(super) fn next(stream: &TcpStream) -> io::Result<Option<Notice>> {
    // Aligned as control messages must be. An expected notice needs at most 64 bytes.
    let mut control = [0u64; 16];
    // SAFETY: all fields are integers and pointers, for which zeroes are valid.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: `control` is writable for `msg_controllen` bytes and outlives the call, the other
    // pointers are null, and the descriptor is open while `stream` lives.
    if unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, flags) } < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    // SAFETY: the kernel has filled in `message`, and `control` is still alive.
    let notice = unsafe { extended_error(&message) }.and_then(|error| Notice::of(&error));
    notice.map(Some).ok_or_else(|| io::Error::other("the error queue holds no zero-copy notice"))
}

/// Finds the extended error in a control message of IP or IPv6.
///
/// # Safety
/// `msg_control` must be aligned for a header, and `msg_controllen` bytes of it filled with control
/// messages.
unsafe fn extended_error(message: &libc::msghdr) -> Option<libc::sock_extended_err> {
    const LONG_ENOUGH: usize = size_of::<libc::cmsghdr>() + size_of::<libc::sock_extended_err>();
    const KNOWN: [(libc::c_int, libc::c_int); 2] =
        [(libc::SOL_IP, libc::IP_RECVERR), (libc::SOL_IPV6, libc::IPV6_RECVERR)];
    // SAFETY: `message` is as the caller promises.
    let first = unsafe { libc::CMSG_FIRSTHDR(message) };
    if first.is_null() {
        return None;
    }
    // SAFETY: a non-null pointer is a header within `msg_control`.
    let header = unsafe { first.read() };
    if !KNOWN.contains(&(header.cmsg_level, header.cmsg_type)) || header.cmsg_len < LONG_ENOUGH {
        return None;
    }
    // SAFETY: its length shows that the control message holds this much after its header. The read
    // needs no alignment.
    Some(unsafe { libc::CMSG_DATA(first).cast::<libc::sock_extended_err>().read_unaligned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn message(origin: u8, code: u8, info: u32, data: u32) -> libc::sock_extended_err {
        libc::sock_extended_err {
            ee_errno: 0,
            ee_origin: origin,
            ee_type: 0,
            ee_code: code,
            ee_pad: 0,
            ee_info: info,
            ee_data: data,
        }
    }

    #[test]
    fn a_notice_is_of_a_range_of_sends() {
        let notice = |sends, copied| Some(Notice { sends, copied });
        assert_eq!(Notice::of(&message(5, 0, 7, 7)), notice(1, false));
        assert_eq!(Notice::of(&message(5, 1, 7, 9)), notice(3, true));
        assert_eq!(Notice::of(&message(5, 0, u32::MAX, 0)), notice(2, false), "they wrap around");
        assert_eq!(Notice::of(&message(4, 0, 7, 7)), None, "a timestamp");
    }

    #[test]
    fn without_sends_there_is_no_notice() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        allow(&stream).unwrap();
        assert_eq!(next(&stream).unwrap(), None);
    }
}
