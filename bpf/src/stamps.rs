//! The kernel's own stamps of packets, for the observer (arrivals.bpf.h).

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

use rustix::{
    net::{AddressFamily, SocketFlags, SocketType, socket_with},
    time::{ClockId, DynamicClockId, clock_gettime, clock_gettime_dynamic},
};

/// A socket that asks for stamps. As long as it lives, the kernel stamps every packet that comes in.
pub(crate) struct Stamps(#[expect(dead_code, reason = "kept open")] OwnedFd);

impl Stamps {
    /// Opens it. It never receives anything.
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

/// By how much CLOCK_TAI is ahead of CLOCK_REALTIME, the clock of the stamps: whole seconds; 0 on
/// hosts where it was never set.
pub(crate) fn tai_ahead_ns() -> io::Result<u64> {
    let real = clock_gettime(ClockId::Realtime);
    // it is read later than the other clock, and so a little further ahead
    let ahead = clock_gettime_dynamic(DynamicClockId::Tai)? - real;
    Ok(u64::try_from(ahead.tv_sec).unwrap_or(0) * 1_000_000_000)
}
