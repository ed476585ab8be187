//! Generic netlink: families of requests. The kernel numbers the families at boot.

use std::io;

use neli::consts::genl::{CtrlAttr, CtrlAttrMcastGrp, CtrlCmd, Index};
use neli::consts::nl::{GenlId, NlmF};
use neli::consts::socket::NlFamily;
use neli::genl::{AttrTypeBuilder, Genlmsghdr, GenlmsghdrBuilder, Nlattr, NlattrBuilder};
use neli::types::{Buffer, GenlBuffer};

use crate::netlink;

/// Version of the family that describes all families (net/netlink/genetlink.c).
const CONTROL_VERSION: u8 = 2;

/// One message of an answer.
pub(crate) type Answer = Genlmsghdr<u8, u16>;

/// Sends `command` with these numbers to the family called `name`, and waits until it is done.
///
/// # Errors
/// The kernel refused, or has no such family (`EOPNOTSUPP`).
pub fn command(name: &str, version: u8, command: u8, numbers: &[(u16, u32)]) -> io::Result<()> {
    let attributes = numbers.iter().map(|&(number, value)| attribute(number, value));
    let attributes = attributes.collect::<io::Result<_>>()?;
    let done = ask(name, version, command, NlmF::ACK, attributes, |_| Some(()))?;
    done.map(drop).ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// Sends `command` to the family called `name`. Applies `read` to each message of the answer and
/// collects the results. `None` if this kernel has no such family or command.
pub(crate) fn ask<T>(
    name: &str,
    version: u8,
    command: u8,
    flags: NlmF,
    attributes: Vec<Nlattr<u16, Buffer>>,
    read: impl Fn(&Answer) -> Option<T>,
) -> io::Result<Option<Vec<T>>> {
    let Some(family) = family(name)? else { return Ok(None) };
    let question = GenlmsghdrBuilder::default()
        .cmd(command)
        .version(version)
        .attrs(attributes.into_iter().collect::<GenlBuffer<u16, Buffer>>())
        .build()
        .map_err(io::Error::other)?;
    match netlink::ask(NlFamily::Generic, family, flags, question, usize::MAX, read) {
        Ok(found) => Ok(Some(found.unwrap_or_default())),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An attribute of a request.
fn attribute(number: u16, value: u32) -> io::Result<Nlattr<u16, Buffer>> {
    NlattrBuilder::default()
        .nla_type(AttrTypeBuilder::default().nla_type(number).build().map_err(io::Error::other)?)
        .nla_payload(value)
        .build()
        .map_err(io::Error::other)
}

/// The number of the family; `None` if the kernel has no family of this name.
fn family(name: &str) -> io::Result<Option<u16>> {
    describe(name, |answer| {
        answer.attrs().get_attr_handle().get_attr_payload_as(CtrlAttr::FamilyId).ok()
    })
}

/// The number of the multicast group called `group` of the family called `name`; `None` if the
/// kernel has no such family or group.
pub(crate) fn group(name: &str, group: &str) -> io::Result<Option<u32>> {
    describe(name, |answer| {
        let attributes = answer.attrs().get_attr_handle();
        let groups = attributes.get_nested_attributes::<Index>(CtrlAttr::McastGroups).ok()?;
        groups.iter().find_map(|one| {
            let one = one.get_attr_handle::<CtrlAttrMcastGrp>().ok()?;
            let called = one.get_attr_payload_as_with_len::<String>(CtrlAttrMcastGrp::Name).ok()?;
            (called == group).then(|| one.get_attr_payload_as(CtrlAttrMcastGrp::Id).ok())?
        })
    })
}

/// Asks for the description of the family called `name` and applies `read` to it.
fn describe<T>(
    name: &str,
    read: impl Fn(&Genlmsghdr<u8, CtrlAttr>) -> Option<T>,
) -> io::Result<Option<T>> {
    let name = NlattrBuilder::default()
        .nla_type(
            AttrTypeBuilder::default()
                .nla_type(CtrlAttr::FamilyName)
                .build()
                .map_err(io::Error::other)?,
        )
        .nla_payload(name)
        .build()
        .map_err(io::Error::other)?;
    let question = GenlmsghdrBuilder::default()
        .cmd(CtrlCmd::Getfamily)
        .version(CONTROL_VERSION)
        .attrs([name].into_iter().collect::<GenlBuffer<CtrlAttr, Buffer>>())
        .build()
        .map_err(io::Error::other)?;
    let control = GenlId::Ctrl.into();
    match netlink::ask(NlFamily::Generic, control, NlmF::ACK, question, usize::MAX, read) {
        Ok(found) => Ok(found.unwrap_or_default().into_iter().next()),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}
