//! The places of the measured machine's CPUs, and the CPUs that its NICs' queues interrupt. Reads
//! sysfs and procfs, in a guest as on a host.

use anyhow::{Context, Result};
use indexmap::IndexMap;

use steer_ground::cpus::CpuList;
use steer_ground::cpus::joined;
use steer_lab::agent::Link;
use steer_lab::facts;
use steer_result::topology::{Cache, Node, OtherNic, Queue, Topology};

/// Nodes, caches and cores. The queues' interrupts differ by steering mode, so they are added
/// later.
///
/// # Errors
/// sysfs describes no nodes or no cores.
pub(super) fn read(link: &mut Link, nics: &[String]) -> Result<Topology> {
    let (nic, others) = nics.split_first().context("there is no NIC")?;
    let numbered = facts::numbered_nodes(link)?;
    let mut caches: Vec<Cache> = Vec::new();
    let mut cores = Vec::new();
    for cpu in numbered.iter().flat_map(|(_, cpus)| cpus) {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
        let core = normal(&link.read(&format!("{folder}/topology/thread_siblings_list"))?);
        if !cores.contains(&core) {
            cores.push(core);
        }
        caches.extend(last_cache(link, &folder).filter(|cache| !caches.contains(cache)));
    }
    let nodes = numbered.into_iter().filter_map(|(node, cpus)| {
        Some(Node { node: u32::try_from(node).ok()?, cpus: normal(&joined(&cpus)) })
    });
    let nodes = nodes.collect();
    let other = |name: &String| OtherNic {
        name: name.clone(),
        node: facts::node_of(link, name).ok().and_then(|node| u32::try_from(node).ok()),
        queues: IndexMap::new(),
    };
    let other_nics = others.iter().map(other).collect();
    Ok(Topology { nodes, caches, cores, nic: nic.clone(), queues: IndexMap::new(), other_nics })
}

/// The cache of the highest level that a CPU has; `None` if the kernel does not know it.
fn last_cache(link: &mut Link, cpu: &str) -> Option<Cache> {
    let folders = link.list(&format!("{cpu}/cache")).ok()?;
    let folders = folders.iter().filter(|name| name.starts_with("index"));
    let caches = folders.filter_map(|name| {
        let level = link.read(&format!("{cpu}/cache/{name}/level")).ok()?.parse().ok()?;
        let cpus = link.read(&format!("{cpu}/cache/{name}/shared_cpu_list")).ok()?;
        Some(Cache { level, cpus: normal(&cpus) })
    });
    caches.max_by_key(|cache| cache.level)
}

/// Records which CPUs the NICs' queues interrupt in this steering mode.
pub(super) fn look_at_queues(topology: &mut Topology, link: &mut Link, mode: &str) {
    topology.queues.insert(mode.to_owned(), queues(link, &topology.nic));
    for nic in &mut topology.other_nics {
        nic.queues.insert(mode.to_owned(), queues(link, &nic.name));
    }
}

/// A NIC's queues; empty if it has no interrupts of its own.
pub(super) fn queues(link: &mut Link, nic: &str) -> Vec<Queue> {
    let irqs = facts::device_irqs(link, nic);
    let Ok(interrupts) = link.read("/proc/interrupts") else { return Vec::new() };
    let named = facts::named_irqs(&interrupts).filter(|(irq, _)| irqs.contains(irq));
    let queues = named.filter_map(|(irq, name)| {
        let queue = queue_of(name, nic)?;
        let cpus = link.read(&facts::affinity_path(irq)).ok()?;
        Some(Queue { queue, irq, cpus: normal(&cpus) })
    });
    queues.collect()
}

/// The number of the queue in an interrupt's name: `virtio0-input.0`, `eth0-TxRx-3`,
/// `mlx5_comp3@pci:0000:81:00.0`. `None` for interrupts that manage the device: their names have no
/// number, or contain "async".
fn queue_of(name: &str, nic: &str) -> Option<u32> {
    let (name, _) = name.split_once('@').unwrap_or((name, ""));
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let manages = name == nic || name.contains("async");
    (!manages).then(|| name[name.len() - digits..].parse().ok())?
}

/// A list of CPUs in its shortest form; other text stays as it is.
fn normal(cpus: &str) -> String {
    cpus.parse().map_or_else(|_| cpus.to_owned(), |cpus: CpuList| cpus.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_told_from_what_manages_the_device() {
        for (name, queue) in [
            ("virtio0-input.0", Some(0)),
            ("virtio0-output.11", Some(11)),
            ("eth0-TxRx-3", Some(3)),
            ("mlx5_comp7@pci:0000:81:00.0", Some(7)),
            ("virtio0-config", None),
            ("mlx5_async0@pci:0000:81:00.0", None),
            ("ena-mgmnt@pci:0000:00:05.0", None),
            ("eth0", None),
        ] {
            assert_eq!(queue_of(name, "eth0"), queue, "{name}");
        }
    }
}
