//! Which CPUs serve a NIC, and which of its queues each.

use steer_topology::{CpuSet, Direction, Machine};

use super::{Options, channels_of};
use crate::queues::Queues;
use crate::setting::Channels;
use crate::state::{IrqState, NicState};

/// The queues to use and the CPU of each.
pub(super) struct Serving {
    /// The CPU of each queue pair, by its number.
    pub(super) cpus: Vec<u32>,
    /// The cores that may serve, one CPU of each, before siblings.
    pub(super) cores: Vec<u32>,
    /// The channels to use, if that is to change.
    pub(super) channels: Option<(Channels, Channels)>,
    /// The CPUs that serve the NIC as a whole, not only some ports.
    pub(super) near: CpuSet,
    /// The queues that RSS spreads packets over.
    pub(super) hashed: Queues,
}

impl Serving {
    /// Chooses. In each pool there is a queue, if there are enough. Others than the pools' need not
    /// be near the NIC.
    ///
    /// # Errors
    /// It is unknown which CPUs are near the NIC, or none of them is online.
    pub(super) fn choose(
        machine: &Machine,
        state: &NicState,
        options: &Options,
        pools: &[CpuSet],
    ) -> Result<Serving, String> {
        let wanted = options.near(state).ok_or(
            "it is unknown which CPUs are near it; name the CPUs that shall serve it (--cpus)",
        )?;
        let near = wanted.intersection(&machine.online_cpus());
        let mut rounds = by_core(machine, &near);
        if rounds.is_empty() {
            return Err(format!("none of the CPUs {wanted} is online"));
        }
        let mut cores = rounds.remove(0);
        cores.retain(|cpu| !pools.iter().any(|pool| pool.contains(*cpu)));
        cores.truncate(options.cores.unwrap_or(usize::MAX).max(1));
        let cores = with_pools(machine, &near, cores, pools);
        let channels = channels(state, cores.len());
        let now = state.rx.len().max(state.tx.len());
        let pairs = channels.map_or(now, |(_, new)| new.receive().max(new.transmit()) as usize);
        let mut candidates = cores.clone();
        candidates.truncate(options.active.unwrap_or(usize::MAX).max(1));
        if pairs > cores.len() && options.cores.is_none() && options.active.is_none() {
            candidates.extend(rounds.into_iter().flatten());
        }
        if !pools.is_empty() {
            // a queue that stays where it is must not keep one from a pool
            candidates.truncate(pairs);
        }
        let cpus = assign(state, pairs, &candidates, channels.is_some());
        let hashed = (0..cpus.len() as u32).collect();
        Ok(Serving { cpus, cores, channels, near, hashed })
    }

    /// The queues whose interrupts go to some CPUs.
    pub(super) fn queues_on(&self, cpus: &CpuSet) -> Queues {
        let queues = (0..).zip(&self.cpus).filter(|(_, cpu)| cpus.contains(**cpu));
        queues.map(|(queue, _)| queue).collect()
    }
}

/// The cores of pools, near the NIC if they have any there, and the others. One of each pool comes
/// first, so that it has a queue also if there are few.
fn with_pools(machine: &Machine, near: &CpuSet, others: Vec<u32>, pools: &[CpuSet]) -> Vec<u32> {
    let (mut first, mut last): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for pool in pools {
        let near = pool.intersection(near);
        let cpus = if near.is_empty() { pool.intersection(&machine.online_cpus()) } else { near };
        let cores: Vec<u32> = by_core(machine, &cpus).into_iter().next().unwrap_or_default();
        if !first.iter().any(|cpu| pool.contains(*cpu)) {
            first.extend(cores.first());
        }
        last.extend(cores);
    }
    let mut cores = Vec::new();
    for cpu in first.into_iter().chain(others).chain(last) {
        if !cores.contains(&cpu) {
            cores.push(cpu);
        }
    }
    cores
}

/// The first CPU of every core, then the second of those that have one, and so on.
fn by_core(machine: &Machine, cpus: &CpuSet) -> Vec<Vec<u32>> {
    let mut rounds: Vec<Vec<u32>> = Vec::new();
    for core in &machine.cores {
        for (round, cpu) in core.cpus.intersection(cpus).iter().enumerate() {
            if rounds.len() <= round {
                rounds.push(Vec::new());
            }
            rounds[round].push(cpu);
        }
    }
    rounds
}

/// The channels now and to be; `None` if they stay. One for each core, if the device has so many.
fn channels(state: &NicState, cores: usize) -> Option<(Channels, Channels)> {
    let channels = state.channels?;
    let max = if channels.max.combined > 0 {
        channels.max.combined
    } else {
        channels.max.rx.min(channels.max.tx)
    };
    let pairs = u32::try_from(cores).unwrap_or(u32::MAX).min(max).max(1);
    let wanted = channels_of(channels.max, channels.now, pairs);
    (max > 0 && wanted != channels.now).then_some((channels.now, wanted))
}

/// The CPU of each queue. `candidates` are dealt out in rounds, one queue each. In a round a queue
/// stays where its interrupt goes already, if that is still to be had; the others get the rest in
/// order. After a change of channels drivers spread interrupts anew: none stays then.
fn assign(state: &NicState, pairs: usize, candidates: &[u32], anew: bool) -> Vec<u32> {
    let present = |queue: usize| {
        let serves = |irq: &&IrqState| {
            irq.queue.is_some_and(|it| it.index as usize == queue && it.direction != Direction::Tx)
        };
        let asked = &state.irqs.iter().find(serves)?.asked;
        asked.first().filter(|_| asked.len() == 1 && !anew)
    };
    let mut cpus: Vec<Option<u32>> = vec![None; pairs];
    while cpus.iter().any(Option::is_none) {
        let mut free: Vec<u32> = candidates.to_vec();
        for (queue, cpu) in cpus.iter_mut().enumerate().filter(|(_, cpu)| cpu.is_none()) {
            let place = present(queue).and_then(|cpu| free.iter().position(|it| *it == cpu));
            *cpu = place.map(|place| free.remove(place));
        }
        let waiting = cpus.iter_mut().filter(|cpu| cpu.is_none());
        waiting.zip(free).for_each(|(cpu, next)| *cpu = Some(next));
    }
    cpus.into_iter().flatten().collect()
}
