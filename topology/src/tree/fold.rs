//! Folds similar lines into one: 64 cores numbered in one pattern are one line, and so are 64 IRQs
//! with the same affinity.

use crate::cpuset::CpuSet;
use crate::machine::{Core, Machine};
use crate::nic::{Direction, Irq, QueueRef};

/// One line for each run of cores whose CPU numbers rise by the same step, among the cores with
/// CPUs in `within`.
pub(super) fn core_runs(machine: &Machine, within: &CpuSet) -> Vec<String> {
    let cores = machine.cores.iter().filter(|core| !core.cpus.is_disjoint(within));
    let continues = |run: &[&Core], core: &Core| {
        let next = step(run[run.len() - 1], core);
        next.is_some() && (run.len() == 1 || step(run[0], run[1]) == next)
    };
    runs(cores, continues).iter().map(|run| core_line(run)).collect()
}

/// The step by which CPU numbers rise from one core to the next, if it is the same for all.
fn step(core: &Core, next: &Core) -> Option<u32> {
    let step = next.cpus.first()?.checked_sub(core.cpus.first()?)?;
    let shifted: CpuSet = core.cpus.iter().map(|cpu| cpu + step).collect();
    (shifted == next.cpus).then_some(step)
}

fn core_line(run: &[&Core]) -> String {
    let cpus = |core: &Core| core.cpus.to_string();
    match run {
        [core] => format!("1 core: CPUs {}", cpus(core)),
        _ if run[0].cpus.len() == 1 => {
            let all: CpuSet = run.iter().flat_map(|core| core.cpus.iter()).collect();
            format!("{} cores: CPUs {all}", run.len())
        }
        [first, second] => format!("2 cores: CPUs {} and {}", cpus(first), cpus(second)),
        [first, second, .., last] => {
            let (first, second, last) = (cpus(first), cpus(second), cpus(last));
            format!("{} cores: CPUs {first} and {second} … {last}", run.len())
        }
        [] => String::new(),
    }
}

/// One line for each run of queue IRQs with the same affinity. Every other IRQ has its own line.
pub(super) fn irq_runs(irqs: &[Irq]) -> Vec<String> {
    let continues = |run: &[&Irq], irq: &Irq| {
        run[0].queue.is_some()
            && irq.queue.is_some()
            && (&run[0].affinity, &run[0].effective) == (&irq.affinity, &irq.effective)
    };
    runs(irqs, continues).iter().map(|run| irq_line(run)).collect()
}

fn irq_line(run: &[&Irq]) -> String {
    let (first, last) = (run[0], run[run.len() - 1]);
    let which = match run {
        [irq] => {
            let queue = irq.queue.map(|queue| format!(" ({})", queue_text(queue)));
            format!("IRQ {} {}{}", irq.number, irq.name, queue.unwrap_or_default())
        }
        _ => {
            let ends = format!("{} {} … {} {}", first.number, first.name, last.number, last.name);
            format!("{} IRQs {ends}", run.len())
        }
    };
    let effective = first.effective.as_ref().filter(|cpus| **cpus != first.affinity);
    let effective = effective.map(|cpus| format!(", effective {cpus}")).unwrap_or_default();
    format!("{which}: CPUs {}{effective}", first.affinity)
}

fn queue_text(queue: QueueRef) -> String {
    let direction = match queue.direction {
        Direction::Rx => "rx",
        Direction::Tx => "tx",
        Direction::Both => "rx and tx",
    };
    format!("{direction} {}", queue.index)
}

/// Splits a sequence into runs, before every item that does not continue a run. No run is empty.
fn runs<'a, T>(
    items: impl IntoIterator<Item = &'a T>,
    continues: impl Fn(&[&'a T], &'a T) -> bool,
) -> Vec<Vec<&'a T>> {
    let mut runs: Vec<Vec<&'a T>> = Vec::new();
    for item in items {
        match runs.last_mut() {
            Some(run) if continues(run, item) => run.push(item),
            _ => runs.push(vec![item]),
        }
    }
    runs
}
