//! Machines at and beyond the bounds of the tables, and the messages for them.

mod topologies;

use std::collections::BTreeMap;

use steer_policy::{CpuPlace, PlannedNic};

use super::*;

/// A machine with so many CPUs, caches and NICs. The last CPU has the last cache and all NICs.
fn machine(cpus: u32, llcs: u32, nics: u32) -> Plan {
    let place = |cpu: u32| CpuPlace {
        llc: cpu.saturating_sub(cpus - llcs),
        shard: cpu.saturating_sub(cpus - llcs),
        core: cpu,
        node: None,
        nics_local: if cpu == cpus - 1 { (0..nics).collect() } else { Vec::new() },
    };
    let nic = |index: u32| PlannedNic {
        name: format!("eth{index}"),
        ifindex: index + 2,
        node: None,
        local_cpus: [cpus - 1].into_iter().collect(),
    };
    Plan {
        cpus: (0..cpus).map(|cpu| (cpu, place(cpu))).collect(),
        nr_llcs: llcs,
        nr_shards: llcs,
        nics: (0..nics).map(nic).collect(),
    }
}

fn no_devices() -> NetworkDevices {
    NetworkDevices {
        interfaces: BTreeMap::new(),
        napis: BTreeMap::new(),
        smallest_napi: None,
        routes: None,
        namespace: None,
    }
}

fn refusal(machine: &Plan) -> String {
    plan(machine, &no_devices()).unwrap_err().to_string()
}

#[test]
fn the_largest_machine_fits() {
    let machine = machine(limits_MAX_CPUS, limits_MAX_LLCS, limits_MAX_NICS);
    let tables = plan(&machine, &no_devices()).unwrap();
    assert_eq!(tables.cpus.len() as u32, limits_MAX_CPUS);
    let last = tables.cpus.last().unwrap();
    assert_eq!((last.core, last.llc), (limits_MAX_CPUS - 1, limits_MAX_LLCS - 1));
    assert_eq!(last.shard, limits_MAX_SHARDS - 1);
    assert_eq!((last.nics_local, last.node), (u64::MAX, u32::MAX));
    assert_eq!(tables.cpus[0].nics_local, 0);
}

#[test]
fn a_machine_beyond_a_limit_is_refused_with_what_helps() {
    let (cpus, llcs, nics) = (limits_MAX_CPUS, limits_MAX_LLCS, limits_MAX_NICS);
    let raise = "raise the limit (enum limits in bpf/src/bpf/intf.h) and rebuild";
    assert_eq!(
        refusal(&machine(cpus + 1, 1, 1)),
        format!(
            "this machine has 1025 CPU numbers; this build of scx_steer supports 1024: {raise}"
        )
    );
    assert_eq!(
        refusal(&machine(cpus, llcs + 1, 1)),
        format!(
            "this machine has 257 last-level caches; \
             this build of scx_steer supports 256: {raise}"
        )
    );
    assert_eq!(
        refusal(&machine(cpus, 1, 1).divided(2)),
        "this machine has 512 queues; this build of scx_steer supports 256: \
         let more CPUs share one (--queue-cpus)"
    );
    assert_eq!(
        refusal(&machine(cpus, llcs, nics + 1)),
        "this machine has 65 NICs; this build of scx_steer supports 64: \
         move spare ones to another network namespace"
    );
}

/// Few CPUs, but one of them with a high number: the tables are indexed by CPU number.
#[test]
fn a_high_number_is_a_large_machine() {
    let mut sparse = machine(2, 1, 0);
    let place = sparse.cpus[&1].clone();
    sparse.cpus.insert(limits_MAX_CPUS, place);
    assert!(refusal(&sparse).contains("CPU numbers"));
}

#[test]
fn numbers_without_a_cpu_are_marked() {
    let mut sparse = machine(4, 1, 1);
    sparse.cpus.remove(&1);
    let tables = plan(&sparse, &no_devices()).unwrap();
    let online: Vec<bool> = tables.cpus.iter().map(|cpu| cpu.online).collect();
    assert_eq!(online, [true, false, true, true]);
}

#[test]
fn more_names_of_nics_than_fit_are_refused() {
    let mut devices = no_devices();
    let interface = |index: u32| {
        let nics = ["eth0".to_owned()].into();
        (index, steer_topology::Interface { name: format!("vlan{index}"), nics })
    };
    devices.interfaces = (0..=limits_MAX_INTERFACES).map(interface).collect();
    let refusal = origins(&machine(1, 1, 1), &devices).unwrap_err().to_string();
    assert!(refusal.starts_with("this machine has 4097 interfaces;"), "{refusal}");
}
