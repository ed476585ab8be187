//! The kernel's own stamps of packets, for the observer (arrivals.bpf.h).

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

use rustix::{
    net::{AddressFamily, SocketFlags, SocketType, socket_with},
    time::{ClockId, DynamicClockId, clock_gettime, clock_gettime_dynamic},
};

/// As long as this lives, the kernel stamps every packet that comes in: some socket asks for it.
pub(crate) struct Stamps(#[expect(dead_code, reason = "kept open")] OwnedFd);

impl Stamps {
    /// Asks for it, on a socket that never receives anything.
    pub(crate) fn on() -> io::Result<Self> {
        let kind = (AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC);
        let socket = socket_with(kind.0, kind.1, kind.2, None)?;
        let on: libc::c_int = 1;
        // SAFETY: the call reads one int, which lives across it.
        let status = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMP,
                (&raw const on).cast(),
                size_of_val(&on) as libc::socklen_t,
            )
        };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(Self(socket)) }
    }
}

/// By how much CLOCK_TAI is ahead of CLOCK_REALTIME, in which stamps are: whole seconds, 0 where
/// nobody has set it.
pub(crate) fn tai_ahead_ns() -> io::Result<u64> {
    let real = clock_gettime(ClockId::Realtime);
    // read after the other, it is further ahead by a little
    let ahead = clock_gettime_dynamic(DynamicClockId::Tai)? - real;
    Ok(u64::try_from(ahead.tv_sec).unwrap_or(0) * 1_000_000_000)
}
