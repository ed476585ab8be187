//! The NAPI contexts of network devices, by which the kernel marks received packets. Unlike an
//! interface's number, a context's is unique over all network namespaces.

use std::collections::BTreeMap;
use std::io;

use neli::consts::genl::{CtrlAttr, CtrlCmd};
use neli::consts::nl::{GenlId, NlmF};
use neli::consts::socket::NlFamily;
use neli::genl::{AttrTypeBuilder, Genlmsghdr, GenlmsghdrBuilder, NlattrBuilder};
use neli::types::{Buffer, GenlBuffer};

use crate::error::Error;
use crate::netlink;
use crate::root::{self, Root};

/// include/uapi/linux/netdev.h
const FAMILY: &str = "netdev";
const VERSION: u8 = 1;
const CMD_NAPI_GET: u8 = 11;
const ATTRIBUTE_IFINDEX: u16 = 1;
const ATTRIBUTE_ID: u16 = 2;

/// The version of the family that tells of families (net/netlink/genetlink.c).
const CONTROL_VERSION: u8 = 2;

type Answer = Genlmsghdr<u8, u16>;

/// Interface number by NAPI number, of every device in the caller's network namespace whose driver
/// has such numbers. Empty before kernel 6.8, which cannot say.
pub(crate) fn read() -> Result<BTreeMap<u32, u32>, Error> {
    let fault = |source| Error::AskKernel { what: "the NAPI contexts of its devices", source };
    let Some(family) = family().map_err(fault)? else { return Ok(BTreeMap::new()) };
    let question = GenlmsghdrBuilder::default()
        .cmd(CMD_NAPI_GET)
        .version(VERSION)
        .attrs(GenlBuffer::<u16, Buffer>::new())
        .build()
        .map_err(|error| fault(io::Error::other(error)))?;
    match netlink::ask(NlFamily::Generic, family, NlmF::DUMP, question, usize::MAX, context) {
        Ok(contexts) => Ok(contexts.unwrap_or_default().into_iter().collect()),
        // 6.6 and 6.7 have the family without this command
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(BTreeMap::new()),
        Err(error) => Err(fault(error)),
    }
}

/// The number the kernel gave the family at boot; `None` if it has none of this name.
fn family() -> io::Result<Option<u16>> {
    let name = NlattrBuilder::default()
        .nla_type(
            AttrTypeBuilder::default()
                .nla_type(CtrlAttr::FamilyName)
                .build()
                .map_err(io::Error::other)?,
        )
        .nla_payload(FAMILY)
        .build()
        .map_err(io::Error::other)?;
    let question = GenlmsghdrBuilder::default()
        .cmd(CtrlCmd::Getfamily)
        .version(CONTROL_VERSION)
        .attrs([name].into_iter().collect::<GenlBuffer<CtrlAttr, Buffer>>())
        .build()
        .map_err(io::Error::other)?;
    let id = |answer: &Genlmsghdr<u8, CtrlAttr>| {
        answer.attrs().get_attr_handle().get_attr_payload_as(CtrlAttr::FamilyId).ok()
    };
    let control = GenlId::Ctrl.into();
    match netlink::ask(NlFamily::Generic, control, NlmF::ACK, question, usize::MAX, id) {
        Ok(ids) => Ok(ids.unwrap_or_default().first().copied()),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A context's number and its interface's. One without a number is never marked on a packet.
fn context(answer: &Answer) -> Option<(u32, u32)> {
    let attributes = answer.attrs().get_attr_handle();
    let id = attributes.get_attr_payload_as(ATTRIBUTE_ID).ok()?;
    Some((id, attributes.get_attr_payload_as(ATTRIBUTE_IFINDEX).ok()?))
}

/// The smallest number a NAPI context can have (`MIN_NAPI_ID`, include/net/busy_poll.h). Smaller
/// ones in the same place of a packet are CPU numbers. `None` if the kernel does not say how many
/// CPUs it was built for.
pub(crate) fn smallest(root: &Root) -> Result<Option<u32>, Error> {
    let last_cpu = root::number(&root.path("sys/devices/system/cpu/kernel_max"))?;
    Ok(last_cpu.map(|last| last + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded on 6.18 from a host with a virtio NIC.
    const DUMP: &[u8] = include_bytes!("../tests/fixtures/netlink/napi.bin");

    #[test]
    fn a_recorded_dump_is_understood() {
        let mut found = Vec::new();
        let ended = netlink::parse(DUMP, &mut |answer| found.extend(context(answer)));
        assert!(ended.unwrap(), "the end is in the same datagram");
        assert_eq!(found, [(257, 4)]);
    }

    #[test]
    fn bytes_that_are_not_netlink_are_an_error() {
        let ignore = &mut |_: &Answer| {};
        assert!(netlink::parse(&DUMP[..DUMP.len() - 3], ignore).is_err());
        assert!(netlink::parse(b"garbage that is long enough", ignore).is_err());
    }

    #[test]
    fn this_kernel_answers_or_has_no_such_family() {
        let smallest = smallest(&Root::system()).unwrap().unwrap();
        assert!(read().unwrap().keys().all(|id| *id >= smallest));
    }
}
