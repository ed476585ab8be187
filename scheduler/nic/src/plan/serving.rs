//! Which CPUs serve a NIC, and which of its queues each.

use steer_topology::{CpuSet, Direction, Machine};

use super::{Options, channels_of};
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
}

impl Serving {
    /// Chooses.
    ///
    /// # Errors
    /// It is unknown which CPUs are near the NIC, or none of them is online.
    pub(super) fn choose(
        machine: &Machine,
        state: &NicState,
        options: &Options,
    ) -> Result<Serving, String> {
        let wanted = options.cpus.as_ref().or(state.local_cpus.as_ref()).ok_or(
            "it is unknown which CPUs are near it; name the CPUs that shall serve it (--cpus)",
        )?;
        let near = wanted.intersection(&machine.online_cpus());
        let mut rounds = by_core(machine, &near);
        if rounds.is_empty() {
            return Err(format!("none of the CPUs {wanted} is online"));
        }
        let mut cores = rounds.remove(0);
        cores.truncate(options.cores.unwrap_or(usize::MAX).max(1));
        let channels = channels(state, cores.len());
        let now = state.rx.len().max(state.tx.len());
        let pairs = channels.map_or(now, |(_, new)| new.receive().max(new.transmit()) as usize);
        let mut candidates = cores.clone();
        candidates.truncate(options.active.unwrap_or(usize::MAX).max(1));
        if pairs > cores.len() && options.cores.is_none() && options.active.is_none() {
            candidates.extend(rounds.into_iter().flatten());
        }
        let cpus = assign(state, pairs, &candidates, channels.is_some());
        Ok(Serving { cpus, cores, channels })
    }
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
