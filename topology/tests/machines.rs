//! Every shape of machine that has caused surprises, as an hwloc XML file: tests what is read from
//! it, what is printed, and that JSON gives it back unchanged.

use std::path::{Path, PathBuf};

use steer_topology::{Machine, tree};

fn load(name: &str) -> Machine {
    let path = PathBuf::from(format!("tests/fixtures/xml/{name}.xml"));
    Machine::from_xml(&path).expect("the fixture is sound")
}

/// The place of a NIC: node and local CPUs.
fn place(machine: &Machine, nic: &str) -> (Option<u32>, Option<String>) {
    let nic = machine.nic(nic).expect("the fixture has the NIC");
    (nic.node, nic.local_cpus.as_ref().map(ToString::to_string))
}

fn local(node: u32, cpus: &str) -> (Option<u32>, Option<String>) {
    (Some(node), Some(cpus.to_owned()))
}

#[test]
fn one_node() {
    let machine = load("one-node");
    insta::assert_snapshot!(tree(&machine).to_string());
    assert_eq!(place(&machine, "eth0"), local(0, "0-7"), "everything is local");
    assert_eq!(machine.siblings(5).unwrap().to_string(), "4-5");
    assert_eq!((machine.siblings(8), machine.cpu(8)), (None, None));
}

#[test]
fn lab_with_the_nic_on_node_1() {
    let machine = load("lab");
    insta::assert_snapshot!(tree(&machine).to_string());
    insta::assert_json_snapshot!(machine);
    assert_eq!(place(&machine, "eth0"), local(1, "2-3"));
    assert_eq!(machine.node(0).unwrap().distances.as_ref().unwrap()[&1], 21);
}

#[test]
fn a_nic_below_the_root_of_two_nodes_has_no_known_place() {
    let machine = load("unknown-place");
    insta::assert_snapshot!(tree(&machine).to_string());
    assert_eq!(place(&machine, "eth0"), (None, None));
}

#[test]
fn sub_numa_clustering_one_l3_over_two_nodes() {
    let machine = load("snc");
    insta::assert_snapshot!(tree(&machine).to_string());
    assert_eq!(machine.llcs.len(), 1);
    assert_eq!(machine.llc_of(0), machine.llc_of(3));
    assert_eq!(machine.llcs[0].nodes, [0, 1].into());
    assert_eq!(place(&machine, "eth0"), (None, Some("0-3".into())), "an L3, but no one node");
}

#[test]
fn several_l3_in_a_node() {
    let machine = load("several-l3");
    insta::assert_snapshot!(tree(&machine).to_string());
    assert_eq!(place(&machine, "ens1f0"), local(1, "8-15"));
    assert_eq!(place(&machine, "onel3p1"), local(0, "0-3"), "hwloc is finer than the node");
    let ports: Vec<_> =
        ["onel3p0", "onel3p1"].map(|nic| machine.nic(nic).unwrap().pci.clone()).into();
    assert_eq!(ports[0], ports[1], "two interfaces on one PCI function");
}

#[test]
fn numbers_with_gaps_and_interleaved() {
    let machine = load("node-gaps");
    insta::assert_snapshot!(tree(&machine).to_string());
    assert_eq!(place(&machine, "eth0").0, Some(8));
    assert!(machine.node(1).is_none());
    assert_eq!(machine.siblings(0).unwrap().to_string(), "0,4");
}

#[test]
fn a_memory_tier_without_cpus() {
    let machine = load("tier");
    insta::assert_snapshot!(tree(&machine).to_string());
    assert!(machine.node(2).unwrap().cpus.is_empty());
    assert_eq!(machine.nodes_with_cpus().count(), 2);
    assert_eq!(place(&machine, "eth0"), local(1, "2-3"));
}

#[test]
fn no_l3_and_two_memories_at_the_same_cpus() {
    let machine = load("no-l3");
    insta::assert_snapshot!(tree(&machine).to_string());
    assert!(machine.llcs.iter().all(|llc| llc.level == 2));
    assert!(machine.cpus.iter().all(|cpu| cpu.node == Some(0)), "not the fast memory's node");
}

#[test]
fn smt_switched_off() {
    let machine = load("smt-off");
    insta::assert_snapshot!(tree(&machine).to_string());
    assert_eq!(machine.offline.to_string(), "4-7");
    assert_eq!(machine.online_cpus().to_string(), "0-3");
    assert_eq!(machine.siblings(0).unwrap().to_string(), "0");
}

#[test]
fn hybrid_cores_with_and_without_l3() {
    let machine = load("hybrid");
    insta::assert_snapshot!(tree(&machine).to_string());
    let levels: Vec<u8> = machine.llcs.iter().map(|llc| llc.level).collect();
    assert_eq!(levels, [3, 2], "the smallest cores have no L3 above them");
    assert_eq!(machine.siblings(4).unwrap().to_string(), "4");
}

#[test]
fn json_gives_every_machine_back() {
    for file in std::fs::read_dir("tests/fixtures/xml").unwrap() {
        let machine = Machine::from_xml(&file.unwrap().path()).unwrap();
        let json = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
    }
}

#[test]
fn bad_files_are_named_with_the_next_step() {
    const WRITE_ONE: &str = "write one with: lstopo --of xml FILE";
    let cannot_read = "cannot read the topology file";
    let not_one = "is not an hwloc topology (no <topology> element)";
    for (file, expected) in [
        (
            "missing.xml",
            format!("{cannot_read} PATH: No such file or directory (os error 2); {WRITE_ONE}"),
        ),
        ("bad", format!("{cannot_read} PATH: Is a directory (os error 21); {WRITE_ONE}")),
        ("bad/empty.xml", format!("PATH {not_one}; {WRITE_ONE}")),
        ("bad/garbage.xml", format!("PATH {not_one}; {WRITE_ONE}")),
        (
            "bad/cut-short.xml",
            "hwloc rejects the topology file PATH: it is damaged or cut short; \
             check it with: lstopo -i FILE"
                .to_owned(),
        ),
        (
            "bad/hwloc3.xml",
            "PATH is hwloc 3.0 XML, and this build links hwloc 2; \
             export it again with: lstopo --of xml --export-xml-flags v2 FILE"
                .to_owned(),
        ),
        (
            "bad/cpu-9000.xml",
            "the topology of PATH contradicts itself: CPU 9000 is beyond 8191, \
             the largest CPU number of Linux; compare it with lstopo's"
                .to_owned(),
        ),
    ] {
        let path = format!("tests/fixtures/{file}");
        let message = Machine::from_xml(Path::new(&path)).unwrap_err().to_string();
        assert_eq!(message, expected.replace("PATH", &path));
    }
}
