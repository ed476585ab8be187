//! Pause frames and interrupt moderation.

use steer_nic::Coalesce;

use crate::case::{Case, each};
use crate::row::{Area, Row, Severity};

/// Longer than this, moderation adds more to a request than a wake-up on a busy CPU does.
const LONG_US: u32 = 250;

pub(crate) const PAUSE: Row = Row {
    id: "pause-frames-on",
    area: Area::Host,
    severity: Severity::Warning,
    title: "A NIC with several queues sends or obeys pause frames.",
    looks: "`ethtool -a`, for devices with several receive queues.",
    why: "One slow CPU fills its queue, and the whole NIC stops: the article's example has seven \
          queues of 1 Gb/s slowed down to 0.8 Gb/s together. Networks for RDMA (RoCE) may need pause \
          frames; leave them on there.",
    source: "RHEL 7.2 article, Flow Control and Buffer Bloat",
    fix: "sudo ethtool -A {nic} autoneg off rx off tx off",
    undo: "sudo ethtool -A {nic} autoneg {autoneg} rx {rx} tx {tx}",
    check: |host| {
        each(host.nics_up()?, |nic| {
            let on = nic.pause.filter(|pause| (pause.rx || pause.tx) && nic.state.rx.len() > 1);
            Ok(on.map(|pause| {
                let word = |on| if on { "on" } else { "off" };
                let (rx, tx) = (word(pause.rx), word(pause.tx));
                Case::of(nic.name())
                    .asked(format!("ethtool -a {}", nic.name()), format!("rx {rx}, tx {tx}"))
                    .with("nic", nic.name())
                    .with("autoneg", word(pause.autonegotiated))
                    .with("rx", rx)
                    .with("tx", tx)
            }))
        })
    },
};

pub(crate) const COALESCING: Row = Row {
    id: "coalescing-extreme",
    area: Area::Host,
    severity: Severity::Warning,
    title: "A NIC interrupts for each packet, or waits long before it does.",
    looks: "`ethtool -c`: not adaptive, and rx-usecs 0 with at most one frame, or above 250. virtio_net \
            is left out: its host moderates.",
    why: "An interrupt for each packet costs the CPU its time at high rates; waiting adds latency to \
          each request. Adaptive moderation does either as the traffic asks.",
    source: "end-system paper, section 2.1; multicore paper, section 2; RHEL 7.2 article, Death by \
             Interrupts",
    fix: "sudo ethtool -C {nic} adaptive-rx on",
    undo: "sudo ethtool -C {nic} adaptive-rx off rx-usecs {usecs} rx-frames {frames}",
    check: |host| {
        each(host.nics_up()?, |nic| {
            let extreme = |set: &Coalesce| {
                let each_packet = set.rx_usecs == 0 && set.rx_frames <= 1;
                !set.adaptive_rx && (each_packet || set.rx_usecs > LONG_US)
            };
            let physical = nic.state.driver.as_deref() != Some("virtio_net");
            let found = nic.state.coalesce.filter(|set| physical && extreme(set));
            Ok(found.map(|set| {
                let value = format!("rx-usecs {}, rx-frames {}", set.rx_usecs, set.rx_frames);
                Case::of(nic.name())
                    .asked(format!("ethtool -c {}", nic.name()), value)
                    .with("nic", nic.name())
                    .with("usecs", set.rx_usecs)
                    .with("frames", set.rx_frames)
            }))
        })
    },
};
