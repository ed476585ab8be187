//! Tests the tree where it folds lines or prints unknown values. The common shapes are in
//! `tests/machines.rs`.

use std::path::Path;

use super::tree;
use crate::hwloc::test_machine;
use crate::machine::Machine;
use crate::netdev;
use crate::root::Root;

/// The tree without its first line.
fn body(machine: &Machine) -> String {
    tree(machine).to_string().split_once('\n').unwrap().1.to_owned()
}

/// The lab's CPUs with the NICs of a recorded tree.
fn with_nics(recorded: &str) -> Machine {
    let mut machine = Machine::from_xml(Path::new("tests/fixtures/xml/lab.xml")).unwrap();
    machine.nics = netdev::read(&Root::recorded(recorded), &machine, &[]).unwrap();
    machine.validate().unwrap();
    machine
}

#[test]
fn the_lab_with_its_queues_and_irqs() {
    insta::assert_snapshot!(body(&with_nics("lab-sysfs")));
}

#[test]
fn irqs_of_one_affinity_are_one_line_and_homeless_nics_come_last() {
    insta::assert_snapshot!(body(&with_nics("server-sysfs")));
}

#[test]
fn cores_in_one_pattern_are_one_line() {
    let siblings_far_apart = "node:1 core:64 pu:2(indexes=2*64:64*1)";
    insta::assert_snapshot!(body(&test_machine(siblings_far_apart)));
}

#[test]
fn a_node_over_two_packages_shows_its_nics_once() {
    let mut machine = test_machine("package:2 core:2 pu:1");
    machine.nics = with_nics("lab-sysfs").nics;
    machine.nics[0].node = Some(0);
    machine.nics[0].irqs.clear();
    insta::assert_snapshot!(body(&machine));
}

#[test]
fn cpus_without_node_or_package() {
    let mut machine = test_machine("package:1 node:2 core:2 pu:1");
    machine.nodes[1].cpus = "2".parse().unwrap();
    machine.cpus[3].node = None;
    machine.packages[0].cpus = "0-2".parse().unwrap();
    machine.cpus[3].package = None;
    machine.validate().unwrap();
    insta::assert_snapshot!(body(&machine));
}

#[test]
fn sizes() {
    let shown = [0, 1023, 1024, 1536, 33_554_432, 1 << 40, u64::MAX].map(super::size);
    assert_eq!(shown, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "32 MiB", "1 TiB", "16384 PiB"]);
}
