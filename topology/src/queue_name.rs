//! Reads from an interrupt's name which queue it serves. The kernel has no file for this. Every
//! driver has its own pattern, but all names end with a direction and a number.

use crate::nic::{Direction, QueueRef};

/// Endings before the number, with the direction they mean. The first match counts.
const ENDINGS: [(&str, Direction); 11] = [
    ("txrx", Direction::Both), // ice, i40e, iavf, ixgbe, igb, bnxt_en, hns3, fbnic
    ("rxtx", Direction::Both), // vmxnet3, nfp, octeontx2
    ("tx-rx", Direction::Both), // ena
    ("mlx5_comp", Direction::Both), // mlx5_core: completion vector n serves channel n
    ("mana_q", Direction::Both), // mana
    ("fp", Direction::Both),   // bnx2x, qede: a "fast path" is a pair
    ("q", Direction::Both),    // be2net
    ("input", Direction::Rx),  // virtio_net
    ("output", Direction::Tx), // virtio_net
    ("rx", Direction::Rx),     // igb, bnxt_en, tg3, stmmac, cxgb4
    ("tx", Direction::Tx),
];

/// In the name of ice's queue for flow rules, which is not for packets (the tests say who saw it).
const CONTROL: &str = ":ctrl-";

/// The queue that the interrupt `name` serves. `None` for configuration, event and management
/// interrupts, and for patterns not listed here.
pub(crate) fn queue_of(name: &str) -> Option<QueueRef> {
    // mlx5 and mana append the device: "mlx5_comp3@pci:0000:3b:00.0".
    let name = name.split('@').next().unwrap_or(name).to_ascii_lowercase();
    let stem = name.trim_end_matches(|last: char| last.is_ascii_digit());
    let index = name[stem.len()..].parse().ok()?;
    let stem = stem.trim_end_matches(['-', '.']);
    if stem.contains(CONTROL) {
        return None;
    }
    let (_, direction) = ENDINGS.iter().find(|(ending, _)| ends_with_word(stem, ending))?;
    Some(QueueRef { direction: *direction, index })
}

/// Whether `stem` ends with `ending` as a separate word: "eth0-rx" ends with "rx", "matrx" does
/// not.
fn ends_with_word(stem: &str, ending: &str) -> bool {
    stem.strip_suffix(ending)
        .is_some_and(|before| !before.ends_with(|last: char| last.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_the_drivers() {
        let queue = |name| queue_of(name).map(|queue| (queue.direction, queue.index));
        for (name, expected) in [
            ("virtio1-input.0", Some((Direction::Rx, 0))),
            ("virtio1-output.3", Some((Direction::Tx, 3))),
            ("mlx5_comp3@pci:0000:3b:00.0", Some((Direction::Both, 3))),
            ("ice-eth0-TxRx-3", Some((Direction::Both, 3))),
            ("i40e-ens1f0-TxRx-11", Some((Direction::Both, 11))),
            ("eth0-TxRx-0", Some((Direction::Both, 0))),
            ("ens5-Tx-Rx-1", Some((Direction::Both, 1))),
            ("eth0-rxtx-2", Some((Direction::Both, 2))),
            ("hns3-0000:7d:00.0-TxRx-3", Some((Direction::Both, 3))),
            ("mana_q2@pci:7870:00:00.0", Some((Direction::Both, 2))),
            ("eth0-fp-4", Some((Direction::Both, 4))),
            ("eth0-rx-1", Some((Direction::Rx, 1))),
            ("eth0-Rx7", Some((Direction::Rx, 7))),
            ("eth0:tx-2", Some((Direction::Tx, 2))),
            ("virtio1-config", None),
            ("mlx5_async0@pci:0000:3b:00.0", None),
            ("ice-eth0:misc", None),
            ("ena-mgmnt@pci:0000:00:05.0", None),
            ("eth0", None),
            ("matrx-3", None),
            ("eth0-rx-99999999999", None),
            ("", None),
        ] {
            assert_eq!(queue(name), expected, "{name}");
        }
    }

    /// From /proc/interrupts as people have shown it. No other part of such hosts is public.
    #[test]
    fn names_of_real_hosts() {
        for (name, expected, seen) in [
            ("ice-lan1-TxRx-3", Some(3), "metal-stack/metal-images#136"),
            ("ice-0000:65:00.0:ctrl-TxRx-0", None, "metal-stack/metal-images#136"),
            ("ice-0000:65:00.1:misc", None, "metal-stack/metal-images#136"),
            ("mlx5_comp31@pci:0000:81:00.0", Some(31), "perftool-incubator/crucible#522"),
            ("i40e-enP1s15-TxRx-2", Some(2), "intel/nemu#82"),
            ("i40e-0001:00:0f.0:misc", None, "intel/nemu#82"),
            ("enp39s0-Tx-Rx-0", Some(0), "amzn/amzn-drivers#316"),
            ("ena-mgmnt@pci:0000:27:00.0", None, "amzn/amzn-drivers#316"),
            ("eth0-Tx-Rx-0", Some(0), "scylladb/scylladb#2611"),
            ("virtio5-input.3", Some(3), "kata-containers/kata-containers#1195"),
            // the kernel tells which of these receive (napi-get), the name does not
            (
                "gve-ntfy-blk5@pci:0000:00:04.0",
                None,
                "GoogleCloudPlatform/compute-virtual-ethernet-linux#64",
            ),
            ("enp5s0f4d1 (queue 11)", None, "Irqbalance/irqbalance#202"),
        ] {
            assert_eq!(queue_of(name).map(|queue| queue.index), expected, "{name}, {seen}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_harmless(name in "\\PC{0,30}") {
            let _ = queue_of(&name);
        }
    }
}
