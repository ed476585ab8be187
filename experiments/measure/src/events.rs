//! The counted events. Events of one group are counted at the same time, so that their ratio is
//! meaningful. The groups are small: a group cannot have more events than the CPU has counters, and
//! Intel CPUs have two for all last-level and node events.

use perf_event::Builder;
use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Software};

/// One event.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    /// Its name in the report.
    pub name: &'static str,
    /// The event for perf_event_open(2).
    pub builder: fn() -> Builder<'static>,
}

const CYCLES: Event = Event { name: "cycles", builder: || Builder::new(Hardware::CPU_CYCLES) };
const INSTRUCTIONS: Event =
    Event { name: "instructions", builder: || Builder::new(Hardware::INSTRUCTIONS) };
const LLC_LOADS: Event =
    Event { name: "llc_loads", builder: || reads(CacheId::LL, CacheResult::ACCESS) };
const LLC_LOAD_MISSES: Event =
    Event { name: "llc_load_misses", builder: || reads(CacheId::LL, CacheResult::MISS) };
const NODE_LOADS: Event =
    Event { name: "node_loads", builder: || reads(CacheId::NODE, CacheResult::ACCESS) };
const NODE_LOAD_MISSES: Event =
    Event { name: "node_load_misses", builder: || reads(CacheId::NODE, CacheResult::MISS) };
const CONTEXT_SWITCHES: Event =
    Event { name: "context_switches", builder: || Builder::new(Software::CONTEXT_SWITCHES) };
const MIGRATIONS: Event =
    Event { name: "migrations", builder: || Builder::new(Software::CPU_MIGRATIONS) };
const CPU_TIME: Event =
    Event { name: "cpu_time_ns", builder: || Builder::new(Software::CPU_CLOCK) };

fn reads(which: CacheId, result: CacheResult) -> Builder<'static> {
    Builder::new(Cache { which, operation: CacheOp::READ, result })
}

const HARDWARE_CYCLES: &[Event] = &[CYCLES, INSTRUCTIONS];
const HARDWARE_LLC: &[Event] = &[LLC_LOADS, LLC_LOAD_MISSES];
const HARDWARE_NODE: &[Event] = &[NODE_LOADS, NODE_LOAD_MISSES];

/// The groups counted on every CPU.
pub(crate) const MACHINE: &[&[Event]] =
    &[HARDWARE_CYCLES, HARDWARE_LLC, HARDWARE_NODE, &[CONTEXT_SWITCHES, MIGRATIONS]];

/// The groups counted for a cgroup. They include its CPU time, from the CPU clock, which runs while
/// the cgroup's threads run. (In a group, the task clock read 0 for the root cgroup on 6.18.)
pub(crate) const CGROUP: &[&[Event]] =
    &[HARDWARE_CYCLES, HARDWARE_LLC, HARDWARE_NODE, &[CONTEXT_SWITCHES, MIGRATIONS, CPU_TIME]];
