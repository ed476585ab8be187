//! Receive rings against the part of the cache that NICs write to.

use steer_topology::Machine;

use crate::case::{Case, each};
use crate::facts::NicFacts;
use crate::row::{Area, Row, Severity};

/// The part of the last-level cache that DDIO uses: 2 of 11 ways (18 % in the host-network-stack
/// paper, footnote 7).
const WAYS: (u64, u64) = (2, 11);
/// Smaller rings overflow in a burst.
const LEAST: u32 = 256;
/// A frame of up to 1500 bytes takes half a page; a larger one, whole pages.
const HALF_PAGE: u64 = 2048;

pub(crate) const CACHE: Row = Row {
    id: "rings-exceed-cache",
    area: Area::Host,
    severity: Severity::Note,
    title: "The buffers of a NIC's receive rings exceed the part of the cache that it writes to.",
    looks: "`ethtool -g` × receive queues × buffer size, against 2/11 of the last-level caches near \
            the NIC, on Intel CPUs (DDIO).",
    why: "Packets are pushed out of the cache before they are copied. In the host-network-stack paper \
          a single core reached 55 Gb/s instead of 42 Gb/s with fewer descriptors and a smaller \
          receive buffer. Smaller rings drop more in bursts: watch rx_missed_errors after the change.",
    source: "host-network-stack paper, section 3.1 and figure 3(e); RHEL 7.2 article, Memory Locality \
             Effect and What More Can be Done",
    fix: "sudo ethtool -G {nic} rx {fits}",
    undo: "sudo ethtool -G {nic} rx {now}",
    check: |host| {
        let machine = host.machine()?;
        let model = machine.packages.first().and_then(|package| package.model.as_deref());
        if !model.is_some_and(|model| model.contains("Intel")) {
            return Ok(Vec::new());
        }
        each(host.nics_up()?, |nic| {
            let mtu_file = format!("sys/class/net/{}/mtu", nic.name());
            let mtu = host.root.value(&mtu_file)?.unwrap_or(1500);
            let (Some(cache), Some(rings)) = (near_cache(machine, nic), nic.state.rings) else {
                return Ok(None);
            };
            let queues = nic.state.rx.len() as u64;
            let per_descriptor = queues * buffer(mtu);
            let (share, need) = (cache * WAYS.0 / WAYS.1, u64::from(rings.rx) * per_descriptor);
            let mut fits = rings.rx;
            while fits / 2 >= LEAST && u64::from(fits) * per_descriptor > share {
                fits /= 2;
            }
            let case = || {
                let value = format!("rx {} in {queues} queues: {} KiB", rings.rx, need >> 10);
                Case::of(nic.name())
                    .asked(format!("ethtool -g {}", nic.name()), value)
                    .saw(&mtu_file, mtu)
                    .asked(
                        "scx_steer topology",
                        format!("2/11 of the cache is {} KiB", share >> 10),
                    )
                    .with("nic", nic.name())
                    .with("fits", fits)
                    .with("now", rings.rx)
            };
            Ok((need > share && fits < rings.rx).then(case))
        })
    },
};

fn buffer(mtu: u64) -> u64 {
    if mtu <= 1500 { HALF_PAGE } else { mtu.next_multiple_of(2 * HALF_PAGE) }
}

/// Bytes of the last-level caches near a NIC.
fn near_cache(machine: &Machine, nic: &NicFacts) -> Option<u64> {
    let local = nic.state.local_cpus.as_ref()?;
    let near = machine.llcs.iter().filter(|cache| !cache.cpus.is_disjoint(local));
    near.map(|cache| cache.size_bytes).sum::<Option<u64>>().filter(|bytes| *bytes > 0)
}
