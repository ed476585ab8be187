//! The NAPI contexts of network devices. The kernel marks received packets with them. Unlike
//! interface numbers, their numbers are unique across network namespaces.

use std::collections::BTreeMap;
use std::io;

use neli::consts::nl::NlmF;

use crate::error::Error;
use crate::genetlink::{self, Answer};
use crate::nic::{Direction, QueueRef};
use crate::root::{self, Root};

/// include/uapi/linux/netdev.h
pub const FAMILY: &str = "netdev";
/// Its version.
pub const VERSION: u8 = 1;
const CMD_QUEUE_GET: u8 = 10;
const CMD_NAPI_GET: u8 = 11;
/// Attributes of a NAPI context; a queue's first two are the other way round.
const IFINDEX: u16 = 1;
/// A context's number.
pub const ID: u16 = 2;
const IRQ: u16 = 3;
const PID: u16 = 4;
/// How often a context may find nothing before its interrupt is on again.
pub const DEFER_HARD_IRQS: u16 = 5;
/// Nanoseconds before it looks by itself.
pub const GRO_FLUSH_TIMEOUT: u16 = 6;
/// Nanoseconds its interrupt stays off while a program polls.
pub const IRQ_SUSPEND_TIMEOUT: u16 = 7;
const THREADED: u16 = 8;
const QUEUE_ID: u16 = 1;
const QUEUE_IFINDEX: u16 = 2;
const QUEUE_TYPE: u16 = 3;
const QUEUE_NAPI: u16 = 4;

/// A NAPI context: what polls one or more queues of a device. What the kernel does not say is
/// `None`: the interrupt of most drivers, settings before 6.13, `threaded` before 6.17.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Napi {
    /// Its number, unique over all network namespaces.
    pub id: u32,
    /// The interface's.
    pub ifindex: u32,
    /// The interrupt that starts it.
    pub irq: Option<u32>,
    /// The kernel thread it runs in, if it is threaded.
    pub pid: Option<u32>,
    /// How often it may find nothing before the device's interrupt is on again.
    pub defer_hard_irqs: Option<u32>,
    /// Nanoseconds before it looks by itself, and before GRO hands on what it holds.
    pub gro_flush_timeout: Option<u32>,
    /// Nanoseconds the interrupt stays off while a program that polls finds events.
    pub irq_suspend_timeout: Option<u32>,
    /// 0 softirq, 1 a kernel thread, 2 a kernel thread that polls all the time.
    pub threaded: Option<u32>,
}

/// A queue that a NAPI context polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolledQueue {
    /// The interface's number.
    pub ifindex: u32,
    /// The queue; of one direction.
    pub queue: QueueRef,
    /// The context's number.
    pub napi: u32,
}

/// All NAPI contexts of the caller's network namespace whose drivers number them; `None` before
/// kernel 6.8, which cannot say.
///
/// # Errors
/// The kernel does not answer.
pub fn napis() -> Result<Option<Vec<Napi>>, Error> {
    let fault = |source| Error::AskKernel { what: "the NAPI contexts of its devices", source };
    dump(CMD_NAPI_GET, context).map_err(fault)
}

/// All queues that a NAPI context polls; `None` before 6.8.
///
/// # Errors
/// The kernel does not answer.
pub fn queues() -> Result<Option<Vec<PolledQueue>>, Error> {
    let fault = |source| Error::AskKernel { what: "the queues of its devices", source };
    dump(CMD_QUEUE_GET, queue).map_err(fault)
}

fn dump<T>(command: u8, read: impl Fn(&Answer) -> Option<T>) -> io::Result<Option<Vec<T>>> {
    genetlink::ask(FAMILY, VERSION, command, NlmF::DUMP, Vec::new(), read)
}

/// Interface number by NAPI number. Empty before kernel 6.8.
pub(crate) fn read() -> Result<BTreeMap<u32, u32>, Error> {
    let contexts = napis()?.unwrap_or_default();
    Ok(contexts.into_iter().map(|napi| (napi.id, napi.ifindex)).collect())
}

/// A context. One without a number is never marked on a packet.
fn context(answer: &Answer) -> Option<Napi> {
    let attributes = answer.attrs().get_attr_handle();
    let number = |attribute| attributes.get_attr_payload_as::<u32>(attribute).ok();
    Some(Napi {
        id: number(ID)?,
        ifindex: number(IFINDEX)?,
        irq: number(IRQ),
        pid: number(PID),
        defer_hard_irqs: number(DEFER_HARD_IRQS),
        gro_flush_timeout: number(GRO_FLUSH_TIMEOUT),
        irq_suspend_timeout: number(IRQ_SUSPEND_TIMEOUT),
        threaded: number(THREADED),
    })
}

/// A queue that a context polls.
fn queue(answer: &Answer) -> Option<PolledQueue> {
    let attributes = answer.attrs().get_attr_handle();
    let number = |attribute| attributes.get_attr_payload_as::<u32>(attribute).ok();
    let direction = match number(QUEUE_TYPE)? {
        0 => Direction::Rx,
        1 => Direction::Tx,
        _ => return None,
    };
    let queue = QueueRef { direction, index: number(QUEUE_ID)? };
    Some(PolledQueue { ifindex: number(QUEUE_IFINDEX)?, queue, napi: number(QUEUE_NAPI)? })
}

/// The smallest number of a NAPI context (`MIN_NAPI_ID`, include/net/busy_poll.h). Smaller numbers
/// in the same field of a packet are CPU numbers. `None` if the kernel does not say how many CPUs
/// it was built for.
pub(crate) fn smallest(root: &Root) -> Result<Option<u32>, Error> {
    let last_cpu = root::number(&root.path("sys/devices/system/cpu/kernel_max"))?;
    Ok(last_cpu.map(|last| last + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink;

    /// Recorded on 6.18 from a host with a virtio NIC.
    const DUMP: &[u8] = include_bytes!("../tests/fixtures/netlink/napi.bin");

    #[test]
    fn a_recorded_dump_is_understood() {
        let mut found = Vec::new();
        let ended = netlink::parse(DUMP, &mut |answer| found.extend(context(answer)));
        assert!(ended.unwrap(), "the end is in the same datagram");
        let expected = Napi {
            id: 257,
            ifindex: 4,
            irq: None,
            pid: None,
            defer_hard_irqs: Some(0),
            gro_flush_timeout: Some(0),
            irq_suspend_timeout: Some(0),
            threaded: Some(0),
        };
        assert_eq!(found, [expected]);
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
