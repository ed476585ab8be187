//! The segment sizes of TCP connections to other hosts, asked by sock_diag (man 7 sock_diag). Needs
//! no root.

use std::io;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use serde::{Deserialize, Serialize};

/// A TCP connection to another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The peer's address.
    pub peer: String,
    /// Bytes that the path takes in a packet.
    pub pmtu: u32,
    /// Payload that this host sends in a segment.
    pub snd_mss: u32,
    /// Payload that this host's interface allows in a segment.
    pub advmss: u32,
}

/// Bytes of the headers of TCP with IPv4 and IPv6, and of the options (time stamps) that segment
/// sizes leave out.
const HEADERS: [u32; 2] = [40, 60];
const OPTIONS: u32 = 12;

impl Connection {
    /// The largest packet that the path and the peer take, if the own interface sends larger ones.
    /// What this host sends in a segment is bounded by both.
    pub(crate) fn less_than_own(&self) -> Option<u32> {
        let headers = HEADERS[usize::from(self.peer.contains(':'))] + OPTIONS;
        let takes = self.pmtu.min(self.snd_mss + headers);
        (self.snd_mss > 0 && self.snd_mss < self.advmss).then_some(takes)
    }
}

/// include/uapi/linux/sock_diag.h, inet_diag.h, netlink.h
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const ESTABLISHED: u32 = 1 << 1;
const REQUEST_DUMP: u16 = 0x1 | 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Bytes of `struct nlmsghdr`, `inet_diag_req_v2`, `inet_diag_msg`.
const HEADER: usize = 16;
const QUESTION: usize = 56;
const ANSWER: usize = 72;
/// Where `inet_diag_msg` has the peer's address, and `tcp_info` has what is wanted.
const PEER: usize = 24;
const SND_MSS: usize = 16;
const PMTU: usize = 60;
const ADVMSS: usize = 84;

/// The connections to other hosts.
///
/// # Errors
/// The kernel does not answer.
pub(crate) fn connections() -> io::Result<Vec<Connection>> {
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        found.extend(of_family(family as u8)?);
    }
    Ok(found)
}

fn of_family(family: u8) -> io::Result<Vec<Connection>> {
    let flags = SocketFlags::CLOEXEC;
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
    send(&socket, &question(family), SendFlags::empty())?;
    let mut found = Vec::new();
    let mut room = vec![0; 64 << 10];
    loop {
        let (length, _) = recv(&socket, &mut room[..], RecvFlags::empty())?;
        if read(&room[..length], family, &mut found)? {
            return Ok(found);
        }
    }
}

fn question(family: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + QUESTION);
    bytes.extend(((HEADER + QUESTION) as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST_DUMP.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([family, libc::IPPROTO_TCP as u8, 1 << (INET_DIAG_INFO - 1), 0]);
    bytes.extend(ESTABLISHED.to_ne_bytes());
    bytes.resize(HEADER + QUESTION, 0);
    bytes
}

/// Reads one datagram. Whether it is the last.
fn read(mut bytes: &[u8], family: u8, found: &mut Vec<Connection>) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (number(bytes, 0), short(bytes, 4)) {
        let length = length as usize;
        let message = bytes.get(HEADER..length).ok_or_else(cut_short)?;
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let code = number(message, 0).unwrap_or(0) as i32;
                return Err(io::Error::from_raw_os_error(-code));
            }
            _ => found.extend(connection(message, family)),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

fn connection(message: &[u8], family: u8) -> Option<Connection> {
    let peer = peer(message.get(PEER..PEER + 16)?, family)?;
    let mut attributes = message.get(ANSWER..)?;
    while let (Some(length), Some(kind)) = (short(attributes, 0), short(attributes, 2)) {
        let length = usize::from(length);
        let value = attributes.get(4..length)?;
        if kind == INET_DIAG_INFO {
            return Some(Connection {
                peer: peer.to_string(),
                pmtu: number(value, PMTU)?,
                snd_mss: number(value, SND_MSS)?,
                advmss: number(value, ADVMSS)?,
            });
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// The address of a peer on another host.
fn peer(bytes: &[u8], family: u8) -> Option<IpAddr> {
    let address = if family == libc::AF_INET as u8 {
        IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(&bytes[..4]).ok()?))
    } else {
        Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical()
    };
    (!address.is_loopback()).then_some(address)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + size_of::<u32>())?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + size_of::<u16>())?;
    Some(u16::from_ne_bytes(bytes.try_into().ok()?))
}

fn cut_short() -> io::Error {
    io::Error::other("an answer of sock_diag that is cut short")
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn with(pmtu: u32, snd_mss: u32, advmss: u32, peer: &str) -> Connection {
        Connection { peer: peer.into(), pmtu, snd_mss, advmss }
    }

    #[test]
    fn a_smaller_path_or_peer_is_seen() {
        assert_eq!(with(9000, 8948, 8948, "192.0.2.1").less_than_own(), None);
        assert_eq!(with(1500, 1448, 8948, "192.0.2.1").less_than_own(), Some(1500));
        assert_eq!(with(9000, 1448, 8948, "192.0.2.1").less_than_own(), Some(1500));
        assert_eq!(with(1450, 1398, 1448, "192.0.2.1").less_than_own(), Some(1450));
        assert_eq!(with(1500, 1428, 1428, "2001:db8::1").less_than_own(), None);
    }

    #[test]
    fn this_kernel_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // the connection above is to this host, so it is left out
        let found = connections().unwrap();
        assert!(found.iter().all(|connection| !connection.peer.starts_with("127.")), "{found:?}");
    }

    #[test]
    fn a_connection_is_read_from_an_answer() {
        let mut message = vec![0; ANSWER];
        message[PEER..PEER + 4].copy_from_slice(&[192, 0, 2, 7]);
        let mut info = vec![0; 104];
        for (at, value) in [(SND_MSS, 1448_u32), (PMTU, 1500), (ADVMSS, 8960)] {
            info[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        message.extend(((4 + info.len()) as u16).to_ne_bytes());
        message.extend(INET_DIAG_INFO.to_ne_bytes());
        message.extend(info);
        let family = libc::AF_INET as u8;
        assert_eq!(connection(&message, family), Some(with(1500, 1448, 8960, "192.0.2.7")));
        message[PEER] = 127;
        assert_eq!(connection(&message, family), None);
        let mut datagram = (HEADER as u32 + 400).to_ne_bytes().to_vec();
        datagram.extend([0; HEADER - 4]);
        assert!(read(&datagram, family, &mut Vec::new()).is_err(), "cut short");
    }
}
