//! From policies to CPUs, on a machine of two nodes, each with two cores of two SMT siblings, and a
//! NIC on the second node.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use steer_policy::{CpuPlace, Plan, PlannedNic, Pools};
use steer_topology::CpuSet;

mod common;

fn cpus(list: &str) -> CpuSet {
    list.parse().unwrap()
}

fn plan() -> Plan {
    let place = |cpu: u32| CpuPlace {
        llc: cpu / 4,
        shard: cpu / 4,
        core: cpu / 2 * 2,
        node: Some(cpu / 4),
        nics_local: if cpu < 4 { vec![] } else { vec![0] },
    };
    Plan {
        cpus: (0..8).map(|cpu| (cpu, place(cpu))).collect(),
        nr_llcs: 2,
        nr_shards: 2,
        nics: vec![PlannedNic {
            name: "eth0".into(),
            ifindex: 2,
            node: Some(1),
            local_cpus: cpus("4-7"),
        }],
    }
}

/// The pools for `rules`. Each rule applies to a cgroup of its own: a, b and so on.
fn pools(rules: &[&str]) -> Pools {
    let names: Vec<String> = ('a'..).take(rules.len()).map(String::from).collect();
    let texts: Vec<String> = names
        .iter()
        .zip(rules)
        .map(|(cgroup, rule)| format!("[[rule]]\ncgroup = \"{cgroup}\"\n{rule}\n"))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let effective = common::effective(&texts, &names).unwrap();
    Pools::new(&plan(), effective.policies())
}

fn sets(pools: &Pools) -> Vec<String> {
    pools.pools.iter().map(|pool| pool.cpus.to_string()).collect()
}

#[test]
fn without_a_pool_threads_go_by_class() {
    let pools = pools(&["class = \"long\""]);
    assert!(pools.pools.is_empty() && pools.of_policy.iter().all(Option::is_none));
}

#[test]
fn near_and_remote_go_by_the_nic() {
    let pools = pools(&["pool = \"nic-local\"", "pool = \"remote\""]);
    assert_eq!(sets(&pools), ["4-7", "0-3"]);
    assert!(pools.pools[0].near_nic && !pools.pools[1].near_nic);
}

#[test]
fn reserved_cores_are_whole_and_nobody_elses() {
    let pools = pools(&["reserve = 1", "reserve = 1", "reserve = 1\nclass = \"long\""]);
    assert_eq!(sets(&pools), ["0-1", "2-3", "4-5"]);
    assert!(pools.pools.iter().all(|pool| pool.kept && !pool.exclusive));
}

#[test]
fn an_exclusive_cpu_is_in_no_other_pool() {
    let pools = pools(&["pool = \"2-5\"", "pool = \"3-4\"\nexclusive = true"]);
    assert_eq!(sets(&pools), ["2,5", "3-4"]);
}

#[test]
fn what_the_machine_lacks_is_said() {
    let missing = pools(&["pool = \"6-9\"", "pool = \"nic-local\"\nnic = \"eth7\""]);
    assert_eq!(sets(&missing), ["6-7"]);
    assert_eq!(
        missing.shortfalls,
        [
            "CPUs 8-9 are not on this machine",
            "no NIC eth7 with a known place: the rule's pool is ignored"
        ]
    );
}
