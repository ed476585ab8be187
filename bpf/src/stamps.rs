//! The kernel's own stamps of packets, for the observer (arrivals.bpf.h).

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

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
    let (real, tai) = (clock(libc::CLOCK_REALTIME)?, clock(libc::CLOCK_TAI)?);
    // read one after the other, they are further apart by a little
    let seconds = (tai - real).div_euclid(1_000_000_000);
    Ok(u64::try_from(seconds).unwrap_or(0) * 1_000_000_000)
}

fn clock(clock: libc::clockid_t) -> io::Result<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec, which lives across it.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}
