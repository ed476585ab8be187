//! Where the interrupts of queues go. Softirq runs on the CPU that takes the interrupt.

use std::collections::BTreeMap;

use steer_nic::IrqState;
use steer_topology::CpuSet;

use crate::case::{Case, Checked, each};
use crate::facts::NicFacts;
use crate::host::Host;
use crate::row::{Area, Row, Severity};

/// Interrupts shown as evidence for one NIC.
const SHOWN: usize = 3;

const ALIGN: &str = "sudo scx_steer nic apply {nic} --mode align";
const RESTORE: &str = "sudo scx_steer nic restore";

pub(crate) const ONE_CPU: Row = Row {
    id: "irqs-on-one-cpu",
    area: Area::Host,
    severity: Severity::Warning,
    title: "One CPU takes the interrupts of all queues of a NIC.",
    looks: "/proc/irq/IRQ/effective_affinity_list (or smp_affinity_list) of each queue's interrupt.",
    why: "All packets are processed on that one CPU: it is full while others idle. In the multicore \
          paper, an application beside such a core reached two fifths of what it reached on a core \
          that shares its cache.",
    source: "multicore paper, section 4.3; RHEL 7.2 article, Identifying the Limits",
    fix: ALIGN,
    undo: RESTORE,
    check: |host| {
        let several = host.machine()?.cpus.len() > 1;
        each(host.nics_up()?, |nic| {
            let irqs = of_queues(nic);
            let first = irqs.first().and_then(|irq| lands(irq).first());
            let one = |irq: &&IrqState| lands(irq).len() == 1 && lands(irq).first() == first;
            let found = several && irqs.len() > 1 && irqs.iter().all(one);
            Ok(found.then(|| shown(nic, &irqs)))
        })
    },
};

pub(crate) const REMOTE: Row = Row {
    id: "irqs-far-from-nic",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Interrupts of a NIC's queues go to CPUs of another node.",
    looks: "/proc/irq/IRQ/effective_affinity_list (or smp_affinity_list) of each queue's interrupt, \
            and the NIC-local CPUs (`scx_steer topology`).",
    why: "The NIC writes packets into the cache of its own node only, so softirq and copy fetch them \
          from memory or over the link between the nodes. With packets processed on another node than \
          the application's, the host-network-stack paper saw up to twice the CPU use on the receiver, \
          and about 20 % less throughput per core with both on the remote node.",
    source: "host-network-stack paper, section 3.1; RHEL 7.2 article, Memory Locality Effect",
    fix: ALIGN,
    undo: RESTORE,
    check: |host| {
        let several = host.has_several_nodes()?;
        each(host.nics_up()?, |nic| {
            let Some(local) = nic.state.local_cpus.as_ref().filter(|_| several) else {
                return Ok(None);
            };
            let far: Vec<&IrqState> =
                of_queues(nic).into_iter().filter(|irq| !lands(irq).is_subset(local)).collect();
            let case =
                || shown(nic, &far).asked("scx_steer topology", format!("NIC-local {local}"));
            Ok((!far.is_empty()).then(case))
        })
    },
};

pub(crate) const SHARED: Row = Row {
    id: "irqs-share-a-core",
    area: Area::Host,
    severity: Severity::Warning,
    title: "Interrupts of several queues go to one core, while other NIC-local cores take none.",
    looks: "/proc/irq/IRQ/effective_affinity_list (or smp_affinity_list) of each queue's interrupt, by \
            core.",
    why: "Queues are for spreading the work: one queue to a core. Two on one core share its time, and \
          RSS cannot even that out.",
    source: "RHEL 7.2 article, Performance Data Ahead (interrupts pinned 1:1 to the CPUs); \
             million-client paper, section 2 (each queue pair pinned to one core)",
    fix: ALIGN,
    undo: RESTORE,
    check: |host| {
        let machine = host.machine()?;
        each(host.nics_up()?, |nic| {
            let Some(local) = &nic.state.local_cpus else { return Ok(None) };
            let irqs = of_queues(nic);
            let core = |cpu: u32| machine.cpu(cpu).map(|cpu| cpu.core);
            let mut on: BTreeMap<usize, Vec<&IrqState>> = BTreeMap::new();
            for irq in &irqs {
                // one that may go to several CPUs is not pinned to any
                if let [cpu] = lands(irq).iter().collect::<Vec<_>>()[..] {
                    on.entry(core(cpu).unwrap_or(usize::MAX)).or_default().push(irq);
                }
            }
            let free = local.iter().filter_map(core).any(|core| !on.contains_key(&core));
            let shared: Vec<&IrqState> =
                on.values().filter(|irqs| irqs.len() > 1).flatten().copied().collect();
            // all on one CPU is a finding of its own
            let found = free && on.len() > 1 && !shared.is_empty();
            Ok(found.then(|| shown(nic, &shared)))
        })
    },
};

pub(crate) const NOT_TAKEN: Row = Row {
    id: "irq-affinity-not-taken",
    area: Area::Host,
    severity: Severity::Warning,
    title: "An interrupt goes elsewhere than was asked.",
    looks: "/proc/irq/IRQ/smp_affinity_list and effective_affinity_list.",
    why: "The setting has no effect: the CPU had no vector left, or the kernel manages the interrupt \
          itself. After a change the second file lags until the next interrupt, so look again under \
          traffic before you act. Writing the affinity again asks anew.",
    source: "Documentation/core-api/irq/irq-affinity.rst",
    fix: "echo {asked} | sudo tee /proc/irq/{irq}/smp_affinity_list",
    undo: "# nothing to undo: this asks for what was asked before",
    check: |host| {
        let mut found = Vec::new();
        for nic in host.nics_up()? {
            let not_taken = |irq: &&&IrqState| {
                irq.effective.as_ref().is_some_and(|now| !now.is_subset(&irq.asked))
            };
            for irq in of_queues(nic).iter().filter(not_taken) {
                let case = Case::of(format!("{} {}", nic.name(), irq.name));
                found.push(saw(case, irq).with("irq", irq.number).with("asked", &irq.asked));
            }
        }
        Ok(found)
    },
};

pub(crate) const ISOLATED: Row = Row {
    id: "irqs-on-isolated-cpus",
    area: Area::Host,
    severity: Severity::Warning,
    title: "CPUs that were isolated take interrupts of a NIC.",
    looks: "/sys/devices/system/cpu/isolated and nohz_full, and the interrupts' affinities.",
    why: "`isolcpus` and `nohz_full` keep CPUs free for programs that must not be disturbed. \
          Interrupts disturb them, each with softirq after it.",
    source: "Documentation/admin-guide/kernel-parameters.txt, isolcpus and nohz_full",
    fix: "echo {others} | sudo tee /proc/irq/{irq}/smp_affinity_list",
    undo: "echo {asked} | sudo tee /proc/irq/{irq}/smp_affinity_list",
    check: isolated,
};

fn isolated(host: &Host) -> Checked {
    let mut found = Vec::new();
    for path in ["sys/devices/system/cpu/isolated", "sys/devices/system/cpu/nohz_full"] {
        let Some(kept) = host.root.cpus(path)? else { continue };
        let others = host.machine()?.online_cpus().difference(&kept);
        for nic in host.nics_up()? {
            for irq in nic.state.irqs.iter().filter(|irq| !lands(irq).is_disjoint(&kept)) {
                let case = Case::of(format!("{} {}", nic.name(), irq.name)).saw(path, &kept);
                let case = saw(case, irq).with("irq", irq.number).with("asked", &irq.asked);
                let allowed = Some(irq.asked.difference(&kept)).filter(|cpus| !cpus.is_empty());
                found.push(case.with("others", allowed.as_ref().unwrap_or(&others)));
            }
        }
    }
    Ok(found)
}

/// The interrupts of a NIC's queues that can be moved.
fn of_queues(nic: &NicFacts) -> Vec<&IrqState> {
    nic.state.irqs.iter().filter(|irq| irq.queue.is_some() && !irq.fixed).collect()
}

/// Where an interrupt goes: where it went last, if the kernel says so.
fn lands(irq: &IrqState) -> &CpuSet {
    irq.effective.as_ref().unwrap_or(&irq.asked)
}

fn saw(case: Case, irq: &IrqState) -> Case {
    let case = case.saw(format!("proc/irq/{}/smp_affinity_list", irq.number), &irq.asked);
    match &irq.effective {
        Some(cpus) => case.saw(format!("proc/irq/{}/effective_affinity_list", irq.number), cpus),
        None => case,
    }
}

/// A case about a NIC with some of its interrupts.
fn shown(nic: &NicFacts, irqs: &[&IrqState]) -> Case {
    let case = Case::of(nic.name()).with("nic", nic.name());
    let file = |irq: &IrqState| match irq.effective {
        Some(_) => format!("proc/irq/{}/effective_affinity_list", irq.number),
        None => format!("proc/irq/{}/smp_affinity_list", irq.number),
    };
    let case = irqs.iter().take(SHOWN).fold(case, |case, irq| case.saw(file(irq), lands(irq)));
    match irqs.len().checked_sub(SHOWN) {
        Some(more @ 1..) => case.asked("scx_steer nic status", format!("{more} more like these")),
        _ => case,
    }
}
