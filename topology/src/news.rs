//! News of network interfaces: the kernel says when one comes, goes or changes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use neli::consts::socket::{Msg, NlFamily};
use neli::socket::NlSocket;
use neli::utils::Groups;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::genetlink;

/// `RTNLGRP_LINK` (linux/rtnetlink.h): interfaces.
const LINKS: u32 = 1;

/// Hears of changes to the network interfaces of this network namespace: of links going up and down
/// and of interfaces coming and going (rtnetlink), and of channels, rings and the like (ethtool).
#[allow(missing_debug_implementations, reason = "neli's sockets have none")]
pub struct DeviceNews {
    sockets: Vec<NlSocket>,
}

impl DeviceNews {
    /// Listens from now on. A kernel that has no news of ethtool's (5.7 has them) gives the others.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn listen() -> io::Result<Self> {
        let mut sockets = vec![join(NlFamily::Route, LINKS)?];
        if let Some(group) = genetlink::group("ethtool", "monitor")? {
            sockets.push(join(NlFamily::Generic, group)?);
        }
        Ok(Self { sockets })
    }

    /// Waits for news, for as long as `patience`. True if there are some. They count as heard, also
    /// if they were too many for the kernel to keep.
    ///
    /// # Errors
    /// The sockets cannot be read.
    pub fn wait(&self, patience: Duration) -> io::Result<bool> {
        // SAFETY: the sockets stay open while `self` is borrowed.
        #[allow(unsafe_code, reason = "neli's sockets lend no descriptor")]
        let fds = self.sockets.iter().map(|s| unsafe { BorrowedFd::borrow_raw(s.as_raw_fd()) });
        let fds: Vec<_> = fds.collect();
        let mut polled: Vec<_> = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
        match poll(&mut polled, Some(&patience)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(false),
            ready => ready?,
        };
        self.sockets.iter().try_for_each(drain)?;
        Ok(true)
    }
}

/// A socket that gets what the kernel sends to `group`.
fn join(family: NlFamily, group: u32) -> io::Result<NlSocket> {
    let socket = NlSocket::connect(family, None, Groups::empty())?;
    socket.add_mcast_membership(Groups::new_groups(&[group]))?;
    socket.nonblock()?;
    Ok(socket)
}

/// Reads until there is nothing left. What it says does not matter: the reader looks for itself.
fn drain(socket: &NlSocket) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match socket.recv(&mut buffer[..], Msg::empty()) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
            Err(error) => return Err(error),
        }
    }
}
