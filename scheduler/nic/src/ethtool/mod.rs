//! The ethtool ioctl: the one way to a driver's settings that every kernel has (netlink has them
//! since 5.6, RSS tables to write since 6.17). Requests are rows of 32-bit words.

pub(crate) mod channels;
pub(crate) mod contexts;
pub(crate) mod features;
#[cfg(test)]
mod layout_tests;
pub(crate) mod pause;
pub(crate) mod rings;
pub(crate) mod rss;
pub(crate) mod rules;
pub(crate) mod statistics;
pub(crate) mod strings;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketType, socket};

/// include/uapi/linux/sockios.h
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// A way to ask drivers.
#[derive(Debug)]
pub(crate) struct Ethtool(OwnedFd);

impl Ethtool {
    /// Opens it. Devices are found in the caller's network namespace.
    pub(crate) fn open() -> io::Result<Ethtool> {
        // any family does; a service may be denied those that reach a network
        Ok(Ethtool(socket(AddressFamily::UNIX, SocketType::DGRAM, None)?))
    }

    /// Hands a request to the driver of `interface`, which writes its answer over it. The caller
    /// sees to it that `words` is as long as the answer can become: the kernel knows the length
    /// from the command, and from counts inside the request.
    fn call(&self, interface: &str, words: &mut [u32]) -> io::Result<()> {
        let mut name = [0; libc::IFNAMSIZ];
        if interface.len() >= name.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in name.iter_mut().zip(interface.bytes()) {
            *to = libc::c_char::from_ne_bytes([from]);
        }
        let mut request = libc::ifreq {
            ifr_name: name,
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: words.as_mut_ptr().cast() },
        };
        // SAFETY: the kernel reads the name and writes through ifru_data, within the length of
        // which the caller makes sure (see above); both outlive the call.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// What a driver that lacks a thing answers; `None` then.
pub(crate) fn if_supported<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}
