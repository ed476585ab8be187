//! News of network interfaces: the kernel says when one comes, goes or changes.

use std::io;

use neli::consts::socket::{Msg, NlFamily};
use neli::socket::NlSocket;
use neli::utils::Groups;

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

    /// Is there news since the last call? Does not wait. News that was too much for the kernel to
    /// keep counts, too.
    ///
    /// # Errors
    /// The sockets cannot be read.
    pub fn heard(&self) -> io::Result<bool> {
        self.sockets.iter().try_fold(false, |heard, socket| Ok(drain(socket)? || heard))
    }
}

/// A socket that gets what the kernel sends to `group`.
fn join(family: NlFamily, group: u32) -> io::Result<NlSocket> {
    let socket = NlSocket::connect(family, None, Groups::empty())?;
    socket.add_mcast_membership(Groups::new_groups(&[group]))?;
    socket.nonblock()?;
    Ok(socket)
}

/// Reads until there is nothing left; true: there was something. What it says does not matter: the
/// reader looks for itself.
fn drain(socket: &NlSocket) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    let mut heard = false;
    loop {
        match socket.recv(&mut buffer[..], Msg::empty()) {
            Ok(_) => heard = true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(heard),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => heard = true,
            Err(error) => return Err(error),
        }
    }
}
