//! Compares the machine these tests run on with other files of the kernel. Nothing here needs root
//! or a certain shape of machine.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs;
use std::process::Command;

use steer_topology::{CpuSet, Machine, Source, tree};

fn kernel_cpus(file: &str) -> CpuSet {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/{file}"));
    text.expect("sysfs is mounted").parse().expect("the kernel writes CPU lists")
}

#[test]
fn every_online_cpu_is_there() {
    let machine = Machine::live().unwrap();
    assert_eq!(machine.source, Source::Live);
    assert_eq!(machine.online_cpus(), kernel_cpus("online"));
    for cpu in &machine.cpus {
        let file = format!("cpu{}/topology/thread_siblings_list", cpu.id);
        assert_eq!(machine.siblings(cpu.id), Some(&kernel_cpus(&file)));
    }
    assert!(tree(&machine).to_string().starts_with("this machine: "));
}

#[test]
fn every_interface_with_a_device_is_there() {
    let machine = Machine::live().unwrap();
    let mut names: Vec<String> = fs::read_dir("/sys/class/net")
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("device").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(machine.nics.iter().map(|nic| nic.name.clone()).collect::<Vec<_>>(), names);
    for nic in &machine.nics {
        assert!(nic.ifindex.is_some() && nic.driver.is_some() && nic.queues.is_some(), "{nic:?}");
    }
}

/// Expects that `test` fails with `message` if it runs with these variables. Threads cannot safely
/// change the environment of their process, so the test runs itself again as a child.
fn expect_refusal(test: &str, variables: &[(&str, &str)], message: &str) {
    const CHILD: &str = "STEER_TOPOLOGY_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        println!("{}", Machine::live().unwrap_err());
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains(message), "{said}");
}

#[test]
fn a_hijacked_hwloc_is_refused_by_name() {
    expect_refusal(
        "a_hijacked_hwloc_is_refused_by_name",
        &[("HWLOC_XMLFILE", "tests/fixtures/xml/lab.xml")],
        "because of HWLOC_XMLFILE in the environment",
    );
}

/// A file may stand in for this machine, but only if it describes this machine.
#[test]
fn a_description_with_other_cpus_is_refused() {
    let machine = "core:2 pu:1(indexes=8000,8001)";
    expect_refusal(
        "a_description_with_other_cpus_is_refused",
        &[("HWLOC_SYNTHETIC", machine), ("HWLOC_THISSYSTEM", "1")],
        "hwloc describes a machine with CPUs 8000-8001, but CPUs ",
    );
}
