//! Cgroups whose settings do not go with network traffic, or would not hold under scx_steer.

use std::collections::{BTreeMap, BTreeSet};

use steer_topology::CpuSet;

use crate::case::{Case, Checked, Unchecked};
use crate::checks::config::Config;
use crate::host::Host;
use crate::row::{Area, Row, Severity};

/// Cgroups below each other that are looked at; deeper trees are none of a container manager's.
const DEPTH: usize = 16;
/// Limits above each other that the scheduler keeps (MAX_LIMITERS, queue/limit.bpf.h).
const NESTED: usize = 8;

pub(crate) const PODS: Row = Row {
    id: "cpuset-excludes-nic",
    area: Area::Host,
    severity: Severity::Warning,
    title: "A cgroup may use no CPU near any NIC.",
    looks: "cpuset.cpus of all cgroups, such as those of pods with CPUs of their own, and the \
            NIC-local CPUs, on machines with several nodes.",
    why: "Its long flows are copied far from the NIC, and no scheduler may move them. In Kubernetes, \
          the kubelet's topology manager places a pod by its devices (`single-numa-node`); elsewhere, \
          widen the cpuset. Pods without bulk traffic are well placed there.",
    source: "host-network-stack paper, section 3.1; docs/limits.md",
    fix: "",
    undo: "",
    check: |host| {
        let several = host.has_several_nodes()?;
        let places = host.nics_up()?.into_iter().filter_map(|nic| nic.state.local_cpus.as_ref());
        let near = places.fold(CpuSet::new(), |all, cpus| all.union(cpus));
        if !several || near.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for group in groups(host)? {
            let file = format!("{group}/cpuset.cpus");
            let Some(text) = relevant(host, &file, |text| !text.is_empty())? else { continue };
            let strange = |error| Unchecked(format!("/{file}: {error}"));
            let cpus: CpuSet = text.parse().map_err(strange)?;
            if cpus.is_disjoint(&near) {
                let case = Case::of(name(host, &group)).saw(file, cpus);
                found.push(case.asked("scx_steer topology", format!("NIC-local {near}")));
            }
        }
        Ok(found)
    },
};

pub(crate) const LIMITS: Row = Row {
    id: "cpu-limits-not-held",
    area: Area::Host,
    severity: Severity::Warning,
    title: "CPU limits of cgroups would not hold under scx_steer.",
    looks: "cpu.max of all cgroups, where it is not `max`: a limit with more than seven limits below \
            it, one within the other; and any limit, if the kernel has no CONFIG_CFS_BANDWIDTH.",
    why: "Under sched_ext the kernel leaves these limits to the scheduler. scx_steer keeps the eight \
          nearest to a thread, and reads them where CONFIG_CFS_BANDWIDTH keeps them. Limits of pods \
          (`resources.limits.cpu`) and of units (CPUQuota=) are these.",
    source: "bpf/src/bpf/queue/limit.bpf.h, MAX_LIMITERS",
    fix: "",
    undo: "",
    check: limits,
};

fn limits(host: &Host) -> Checked {
    let mut limits: BTreeMap<String, String> = BTreeMap::new();
    for group in groups(host)? {
        if let Some(limit) = relevant(host, &file(&group), |text| !text.starts_with("max"))? {
            limits.insert(group, limit);
        }
    }
    if limits.is_empty() {
        return Ok(Vec::new());
    }
    let config = Config::of(host)?;
    let lacking = config.filter(|config| config.value("CONFIG_CFS_BANDWIDTH").is_none());
    // a limit within n others is the nearest of n + 1
    let chain = |group: &String| -> Vec<&String> {
        let outer = |other: &&String| {
            group
                .strip_prefix(other.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        limits.keys().filter(outer).collect()
    };
    let too_far: BTreeSet<&String> = limits
        .keys()
        .flat_map(|group| {
            let chain = chain(group);
            let far = chain.len().saturating_sub(NESTED);
            chain.into_iter().take(far)
        })
        .collect();
    let case = |(group, limit): (&String, &String)| {
        let case = Case::of(name(host, group)).saw(file(group), limit);
        match &lacking {
            Some(config) => Some(case.saw(&config.path, "CONFIG_CFS_BANDWIDTH is not set")),
            None => too_far.contains(group).then_some(case),
        }
    };
    Ok(limits.iter().filter_map(case).collect())
}

fn file(group: &str) -> String {
    format!("{group}/cpu.max")
}

/// The text of a file that is kept in a recording only if it matters.
fn relevant(
    host: &Host,
    file: &str,
    matters: impl Fn(&str) -> bool,
) -> Result<Option<String>, Unchecked> {
    let Some(content) = host.root.peek(file)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&content).trim().to_owned();
    if text.is_empty() || !matters(&text) {
        return Ok(None);
    }
    host.root.bytes(file)?;
    Ok(Some(text))
}

/// The folders of all cgroups below the root one, parents first.
fn groups(host: &Host) -> Result<Vec<String>, Unchecked> {
    let mut found = vec![host.cgroups.clone()];
    let mut next = 0;
    while let Some(parent) = found.get(next).cloned() {
        next += 1;
        if parent.matches('/').count() > host.cgroups.matches('/').count() + DEPTH {
            continue;
        }
        for name in host.root.names(&parent)? {
            let path = format!("{parent}/{name}");
            if host.root.folder().join(&path).is_dir() {
                found.push(path);
            }
        }
    }
    Ok(found.split_off(1))
}

/// A cgroup's path from the root of the tree.
fn name(host: &Host, group: &str) -> String {
    group.strip_prefix(&host.cgroups).unwrap_or(group).trim_start_matches('/').to_owned()
}
