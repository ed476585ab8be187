//! Checks that a [`Machine`] does not contradict itself, so that all later code can index and look
//! up without checks. Descriptions come from firmware, files and JSON.

use std::collections::BTreeSet;

use crate::cpuset::{CpuSet, MAX_CPU};
use crate::error::Error;
use crate::machine::{Cpu, Machine};

impl Machine {
    /// Checks the machine. The loaders already call this; call it for a `Machine` from elsewhere.
    ///
    /// # Errors
    /// [`Error::Inconsistent`], with the first contradiction found.
    pub fn validate(&self) -> Result<(), Error> {
        match self.contradiction() {
            Some(what) => Err(Error::Inconsistent { of: self.source.clone(), what }),
            None => Ok(()),
        }
    }

    fn contradiction(&self) -> Option<String> {
        let online = self.online_cpus();
        self.bad_numbering(&online)
            .or_else(|| self.cpus.iter().find_map(|cpu| self.bad_cpu(cpu)))
            .or_else(|| self.bad_part(&online))
            .or_else(|| self.bad_nic(&online))
    }

    /// CPUs and nodes exist, are sorted, unique and within Linux's range.
    fn bad_numbering(&self, online: &CpuSet) -> Option<String> {
        if self.cpus.is_empty() {
            return Some("there is no CPU".into());
        }
        if let Some(pair) = self.cpus.windows(2).find(|pair| pair[0].id >= pair[1].id) {
            return Some(format!("CPU {} is out of order or listed twice", pair[1].id));
        }
        if let Some(cpu) = online.union(&self.offline).last().filter(|&cpu| cpu > MAX_CPU) {
            return Some(format!("CPU {cpu} is beyond {MAX_CPU}, the largest CPU number of Linux"));
        }
        let both = online.intersection(&self.offline);
        if !both.is_empty() {
            return Some(format!("CPUs {both} are both online and offline"));
        }
        let pair = self.nodes.windows(2).find(|pair| pair[0].id >= pair[1].id)?;
        Some(format!("node {} is out of order or listed twice", pair[1].id))
    }

    /// Every part that a CPU refers to exists and lists the CPU.
    fn bad_cpu(&self, cpu: &Cpu) -> Option<String> {
        let core = self.cores.get(cpu.core).map(|core| &core.cpus);
        let llc = cpu.llc.map(|llc| self.llcs.get(llc).map(|llc| &llc.cpus));
        let package = cpu.package.map(|index| self.packages.get(index).map(|part| &part.cpus));
        let node = cpu.node.map(|node| self.node(node).map(|node| &node.cpus));
        let lacks_it = |cpus: Option<&CpuSet>| !cpus.is_some_and(|cpus| cpus.contains(cpu.id));
        let part =
            [("core", Some(core)), ("last-level cache", llc), ("package", package), ("node", node)]
                .into_iter()
                .find_map(|(part, cpus)| cpus.filter(|&cpus| lacks_it(cpus)).map(|_| part))?;
        Some(format!("CPU {} refers to a {part} that does not list it", cpu.id))
    }

    /// No two parts of one kind have the same CPU, and no part has a CPU that is not online.
    /// Together with the check of the CPUs, this makes both directions of reference agree.
    fn bad_part(&self, online: &CpuSet) -> Option<String> {
        let cores = self.cores.iter().map(|core| &core.cpus);
        let llcs = self.llcs.iter().map(|llc| &llc.cpus);
        let packages = self.packages.iter().map(|package| &package.cpus);
        let nodes = self.nodes.iter().map(|node| &node.cpus);
        bad_sets("core", cores, online)
            .or_else(|| bad_sets("last-level cache", llcs, online))
            .or_else(|| bad_sets("package", packages, online))
            .or_else(|| bad_sets("node", nodes, online))
    }

    /// NIC names are unique, and their nodes and local CPUs exist.
    fn bad_nic(&self, online: &CpuSet) -> Option<String> {
        let mut names = BTreeSet::new();
        for nic in &self.nics {
            let name = &nic.name;
            if !names.insert(name) {
                return Some(format!("NIC {name} is listed twice"));
            }
            if let Some(node) = nic.node.filter(|&node| self.node(node).is_none()) {
                return Some(format!("NIC {name} is on node {node}, which does not exist"));
            }
            if nic.local_cpus.as_ref().is_some_and(|cpus| !cpus.is_subset(online)) {
                return Some(format!("NIC {name} is local to CPUs that are not online"));
            }
        }
        None
    }
}

/// The first CPU that two sets share or that is not online, among the parts of one kind.
fn bad_sets<'a>(
    kind: &str,
    sets: impl Iterator<Item = &'a CpuSet>,
    online: &CpuSet,
) -> Option<String> {
    let mut seen = CpuSet::new();
    for set in sets {
        if !set.is_subset(online) {
            return Some(format!(
                "a {kind} lists CPUs {}, which are not online",
                set.difference(online)
            ));
        }
        if !set.is_disjoint(&seen) {
            return Some(format!("CPUs {} are in more than one {kind}", set.intersection(&seen)));
        }
        seen = seen.union(set);
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::hwloc::test_machine;
    use crate::machine::Machine;

    /// Applies `damage` to a valid machine, and returns the message.
    fn verdict(damage: impl FnOnce(&mut Machine)) -> String {
        let mut machine = test_machine("package:2 l3:1 core:2 pu:2");
        machine.validate().unwrap();
        damage(&mut machine);
        machine.validate().unwrap_err().to_string()
    }

    #[test]
    fn every_contradiction_is_named() {
        let says = |damage: fn(&mut Machine), what: &str| {
            let verdict = verdict(damage);
            assert!(verdict.contains(what), "{verdict}");
        };
        says(|m| m.cpus.clear(), "there is no CPU");
        says(|m| m.cpus.swap(0, 1), "CPU 0 is out of order or listed twice");
        says(|m| m.cpus[7].id = 9000, "CPU 9000 is beyond 8191");
        says(|m| m.cpus.clear(), "topology of package:2 l3:1 core:2 pu:2 contradicts itself");
        says(|m| m.offline = "7-8".parse().unwrap(), "CPUs 7 are both online and offline");
        says(|m| m.nodes.push(m.nodes[0].clone()), "node 0 is out of order or listed twice");
        says(|m| m.cpus[0].core = 99, "CPU 0 refers to a core that does not list it");
        says(|m| m.cpus[0].llc = Some(1), "CPU 0 refers to a last-level cache that does not");
        says(|m| m.cpus[0].package = Some(1), "CPU 0 refers to a package that does not");
        says(|m| m.cpus[0].node = Some(5), "CPU 0 refers to a node that does not");
        says(|m| m.cores[0].cpus = "0-2".parse().unwrap(), "CPUs 2 are in more than one core");
        says(
            |m| m.llcs[0].cpus = "0-3,64".parse().unwrap(),
            "a last-level cache lists CPUs 64, which are not online",
        );
    }
}
