//! Sends one netlink request to the kernel and reads all messages of its answer. Other modules
//! define the requests.

use std::fmt::Debug;
use std::io::{self, Cursor};

use neli::consts::nl::NlmF;
use neli::consts::socket::{Msg, NlFamily};
use neli::nl::{NlPayload, Nlmsghdr, NlmsghdrBuilder};
use neli::socket::NlSocket;
use neli::types::NlBuffer;
use neli::utils::Groups;
use neli::{FromBytesWithInput, Size, ToBytes};

/// The kernel writes at most this many bytes at once (netlink_dump, net/netlink/af_netlink.c).
const DATAGRAM: usize = 32 << 10;

/// An answer that is too long for the caller.
#[derive(Debug)]
pub(crate) struct TooLong;

/// Sends `family` one request of the type `kind`. Applies `read` to each message of the answer and
/// collects the results, up to the kernel's end mark. Returns an inner `Err(TooLong)` if there are
/// more than `limit` results.
pub(crate) fn ask<Q, A, T>(
    family: NlFamily,
    kind: u16,
    flags: NlmF,
    question: Q,
    limit: usize,
    read: impl Fn(&A) -> Option<T>,
) -> io::Result<Result<Vec<T>, TooLong>>
where
    Q: Size + ToBytes + Debug,
    A: Size + FromBytesWithInput<Input = usize> + Debug,
{
    let message: Nlmsghdr<u16, Q> = NlmsghdrBuilder::default()
        .nl_type(kind)
        .nl_flags(NlmF::REQUEST | flags)
        .nl_payload(NlPayload::Payload(question))
        .build()
        .map_err(io::Error::other)?;
    let mut bytes = Cursor::new(vec![0; message.padded_size()]);
    message.to_bytes(&mut bytes).map_err(io::Error::other)?;

    let socket = NlSocket::connect(family, None, Groups::empty())?;
    socket.send(bytes.get_ref(), Msg::empty())?;
    let mut found = Vec::new();
    let mut buffer = vec![0; DATAGRAM];
    loop {
        let (length, _) = socket.recv(&mut buffer, Msg::empty())?;
        let last = parse(&buffer[..length], &mut |message| found.extend(read(message)))?;
        if found.len() > limit {
            return Ok(Err(TooLong));
        }
        if last {
            return Ok(Ok(found));
        }
    }
}

/// Calls `visit` with the messages of one datagram. True if the answer ends with it.
///
/// # Errors
/// The kernel refused the request, or the datagram is not netlink.
pub(crate) fn parse<A>(datagram: &[u8], visit: &mut impl FnMut(&A)) -> io::Result<bool>
where
    A: Size + FromBytesWithInput<Input = usize> + Debug,
{
    let messages: NlBuffer<u16, A> =
        NlBuffer::from_bytes_with_input(&mut Cursor::new(datagram), datagram.len())
            .map_err(io::Error::other)?;
    for message in messages.iter() {
        match message.nl_payload() {
            NlPayload::Payload(payload) => visit(payload),
            NlPayload::Err(error) => return Err(io::Error::from_raw_os_error(-error.error())),
            NlPayload::DumpExtAck(end) if *end.error() < 0 => {
                return Err(io::Error::from_raw_os_error(-end.error()));
            }
            NlPayload::DumpExtAck(_) | NlPayload::Ack(_) | NlPayload::Empty => return Ok(true),
        }
    }
    Ok(false)
}
