//! Tests the sysfs and procfs reader on recorded trees.

use super::*;
use crate::hwloc::test_machine;
use crate::nic::Direction;

/// The NICs of a recorded tree, on a machine of two nodes with two CPUs each.
fn nics(tree: &str) -> Vec<Nic> {
    let machine = test_machine("node:2 core:2 pu:1");
    read(&Root::recorded(tree), &machine, &[]).unwrap()
}

fn nic(tree: &str, name: &str) -> Nic {
    nics(tree).into_iter().find(|nic| nic.name == name).unwrap()
}

/// Number, direction and index of the IRQs that serve a queue.
fn queue_irqs(nic: &Nic) -> Vec<(u32, Direction, u32)> {
    let queue =
        |irq: &crate::Irq| irq.queue.map(|queue| (irq.number, queue.direction, queue.index));
    nic.irqs.iter().filter_map(queue).collect()
}

#[test]
fn a_virtio_nic_takes_place_and_irqs_from_the_pci_function_above_it() {
    let nic = nic("lab-sysfs", "eth0");
    assert_eq!(nic.pci.as_deref(), Some("0000:81:00.0"));
    assert_eq!(nic.driver.as_deref(), Some("virtio_net"));
    assert_eq!((nic.node, nic.local_cpus), (Some(1), Some("2-3".parse().unwrap())));
    assert_eq!(nic.speed_mbps, None, "-1 is unknown");
    assert_eq!(nic.queues, Some(Queues { rx: 4, tx: 4 }));
    let numbers: Vec<u32> = nic.irqs.iter().map(|irq| irq.number).collect();
    assert_eq!(numbers, (30..39).collect::<Vec<u32>>(), "39 has no handler, 24 is the bridge's");
    assert_eq!(nic.irqs[0].queue, None, "configuration interrupt");
    assert_eq!(nic.irqs[7].name, "virtio1-input.3");
    assert_eq!(nic.irqs[7].affinity, "3".parse().unwrap());
    assert_eq!(nic.irqs[0].effective, Some("1".parse().unwrap()));
}

#[test]
fn interfaces_without_a_device_are_no_nics() {
    let names: Vec<String> = nics("lab-sysfs").into_iter().map(|nic| nic.name).collect();
    assert_eq!(names, ["eth0"], "not lo, bond0, bonding_masters");
}

#[test]
fn a_completion_vector_serves_both_directions() {
    let nic = nic("server-sysfs", "ens1np0");
    assert_eq!((nic.speed_mbps, nic.node), (Some(100_000), Some(1)));
    assert_eq!(queue_irqs(&nic), [(101, Direction::Both, 0), (102, Direction::Both, 1)]);
    assert_eq!(nic.irqs.len(), 3);
}

#[test]
fn interfaces_on_one_function_share_only_what_names_neither() {
    let numbers = |name| -> Vec<u32> {
        nic("server-sysfs", name).irqs.iter().map(|irq| irq.number).collect()
    };
    assert_eq!(numbers("eth1"), [110, 111]);
    assert_eq!(numbers("eth10"), [110, 112]);
}

#[test]
fn what_is_unknown_is_none() {
    let nic = nic("server-sysfs", "old0");
    assert_eq!((nic.node, nic.local_cpus, nic.speed_mbps, nic.mac), (None, None, None, None));
    assert_eq!(nic.irqs.len(), 1, "the interrupt line, shared");
    assert_eq!((nic.irqs[0].number, nic.irqs[0].queue), (11, None));
    assert_eq!(nic.irqs[0].effective, None);
}

#[test]
fn buses_other_than_pci() {
    let usb = nic("server-sysfs", "usb0");
    assert_eq!((usb.pci.as_deref(), usb.node), (Some("0000:00:14.0"), Some(0)));
    assert_eq!(usb.irqs, [], "the host controller's IRQ is not its own");
    let mmio = nic("server-sysfs", "mmio0");
    assert_eq!((&mmio.pci, mmio.node), (&None, None));
    assert_eq!((mmio.irqs[0].number, mmio.irqs.len()), (5, 1));
    let chip = nic("server-sysfs", "end0");
    assert_eq!(chip.irqs.iter().map(|irq| irq.number).collect::<Vec<_>>(), [6]);
}

#[test]
fn a_file_with_garbage_is_an_error_that_names_it() {
    let tree = tempfile::tempdir().unwrap();
    let nic = tree.path().join("sys/class/net/eth0");
    std::fs::create_dir_all(nic.join("device")).unwrap();
    std::fs::write(nic.join("ifindex"), "two\n").unwrap();
    // An absolute path replaces the fixture directory it is joined to.
    let root = Root::recorded(tree.path().to_str().unwrap());
    let error = read(&root, &test_machine("core:2 pu:1"), &[]).unwrap_err().to_string();
    assert!(
        error.contains("eth0/ifindex contains \"two\", which is not a whole number"),
        "{error}"
    );
}
