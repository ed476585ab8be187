//! What a result records about this host, and about the machine that drives the traffic.

use anyhow::Result;
use serde_json::{Map, json};

use super::nic::Nic;
use crate::environment::{now, scx_steer_version};
use steer_lab::agent::Link;
use steer_lab::facts;
use steer_remote::{About, Agent};
use steer_result::Environment;
use steer_scenario::layout::Layout;

/// Looks at both.
///
/// # Errors
/// scx_steer does not print its version.
pub(super) fn read(
    link: &mut Link,
    nic: &Nic,
    layout: &Layout,
    agent: &Agent,
) -> Result<Environment> {
    let here = About::here();
    let cpus: usize = layout.nodes.iter().map(Vec::len).sum();
    let mut other = Map::new();
    other.insert("agent".to_owned(), json!(agent.name));
    other.insert("nic".to_owned(), json!(nic.name));
    other.insert("cpu".to_owned(), json!(here.cpu));
    Ok(Environment {
        started: now(),
        kernel: here.kernel,
        cpus: u32::try_from(cpus).ok(),
        nic_node: nic.node.and_then(|node| u32::try_from(node).ok()),
        nic_cpus: nic.cpus.as_ref().map(ToString::to_string),
        nic_iommu: facts::iommu(link, &nic.name),
        arm_version: scx_steer_version(link)?,
        host_cpu: agent.about.cpu.clone(),
        host_cpus: agent.about.cpus,
        host_kernel: agent.about.kernel.clone(),
        other,
        ..Environment::default()
    })
}
