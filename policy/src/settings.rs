//! The settings of classification and placement, with their bounds.
//!
//! There is one validated type. It starts from the built-in defaults; options of `scx_steer` change
//! it for the host, policy files for cgroups. `ARCHITECTURE.md` lists the papers named here.

use std::{fmt::Display, time::Duration};

use serde::Serialize;

use crate::rules::{Bytes, Time};

const KIB: u64 = 1024;
const MS: Duration = Duration::from_millis(1);

/// Everything that the kernel side gets, except the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// When a flow is long or short, and how flows make a thread's class.
    pub classification: Classification,
    /// How classes are placed.
    pub placement: Placement,
}

/// When a flow is long or short, and how flows make a thread's class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Classification {
    /// A burst of at least this many bytes makes a flow long. Default 64 KiB: at 64 KB an RPC's
    /// CPU profile is that of a long flow (host-network-stack paper, §3.7).
    pub long_burst_bytes: u64,
    /// A burst of at most this many bytes counts towards a short flow. Default 16 KiB: "with just
    /// 16KB RPCs, data copy becomes the dominant factor" (same, §3.7), so this is the largest
    /// RPC. Flows between the bounds keep their class.
    pub short_burst_bytes: u64,
    /// A burst ends when its socket is silent for longer than this. Default 1 ms: longer than a
    /// round trip in a data centre, shorter than the pauses of people and disks.
    pub idle_gap: Duration,
    /// How many short bursts in a row turn a long flow short. Default 8: a stalling sender also
    /// cuts a bulk transfer into small bursts, but seldom eight times in a row.
    pub short_bursts_to_leave_long: u32,
    /// After this time, past traffic of a thread counts half. Default 100 ms, 20 time slices: a
    /// class survives a pause between requests, but not a change of work.
    pub half_life: Duration,
    /// Estimated CPU cost of payload, in ns per KiB. Default 195: one core copies a single long
    /// flow at 42 Gb/s (same, §3.1, fig 3a).
    pub cost_ns_per_kib: u64,
    /// Estimated CPU cost of a message without its payload, in ns. Default 4500: one core serves
    /// 4 KB RPCs at 6.15 Gb/s (same, §3.7, fig 11). That is 5.3 µs each, minus the copy.
    pub cost_ns_per_message: u64,
    /// A thread whose decayed cost is below this has no class. Default 10 µs: less than a burst of
    /// 64 KiB, so that the first such burst classifies a thread, and about two messages.
    pub floor: Duration,
}

/// How classes are placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// Longest time a thread runs while others wait. Default 5 ms: a little more than a tick at
    /// HZ=250, the rate of distribution kernels. A shorter slice raises the median latency of
    /// RPCs, a longer one their tail latency (experiments/runs/2026-11-23-slice).
    pub slice: Duration,
    /// How long a core stays claimed by a long-flow thread after it last woke or ran there. Default
    /// 200 ms: longer than the pauses of a paced transfer, but short for a thread that waits for
    /// the core.
    pub claim: Duration,
    /// A thread that waits longer than this gets any idle CPU it may use, even on a claimed core.
    /// The core's owner gets it back as it wakes. Default 50 ms, ten slices: longer than short-flow
    /// threads wait that take turns on too few CPUs. Checked at ticks, so the wait is at most this
    /// plus one tick. A claimed core with little traffic takes a short-flow thread sooner
    /// (`lend_wait`, bpf/src/bpf/pure/load.h): 2 ms for all cores would serve more RPCs that take
    /// milliseconds, but mix the kinds in the lab's demo, where one takes half a millisecond.
    pub lend_after: Duration,
    /// So many CPUs share one queue at most. Default 32: a cache of 16 cores with SMT stays whole,
    /// as in today's EPYC. With more, the lock of the queue would be in demand. With fewer, shares
    /// of CPU time would be less exact: balance between queues ends where they differ by less than
    /// one thread (balance.bpf.h), which is a larger part of fewer CPUs.
    pub queue_cpus: u32,
}

impl Default for Classification {
    fn default() -> Self {
        Self {
            long_burst_bytes: 64 * KIB,
            short_burst_bytes: 16 * KIB,
            idle_gap: MS,
            short_bursts_to_leave_long: 8,
            half_life: 100 * MS,
            cost_ns_per_kib: 195,
            cost_ns_per_message: 4500,
            floor: Duration::from_micros(10),
        }
    }
}

impl Default for Placement {
    fn default() -> Self {
        Self { slice: 5 * MS, claim: 200 * MS, lend_after: 50 * MS, queue_cpus: 32 }
    }
}

/// Why a setting is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// A value outside its range.
    #[error("{key}: {given} is out of range; allowed: {allowed}")]
    OutOfRange {
        /// Name of the setting in options and policy files.
        key: &'static str,
        /// What was given.
        given: String,
        /// The smallest and the largest allowed value.
        allowed: String,
    },
    /// The bound of short flows is not below the bound of long flows.
    #[error(
        "short_burst_bytes = {short} is not below long_burst_bytes = {long}: a burst between them \
         would be both; lower the first or raise the second"
    )]
    Crossed {
        /// `short_burst_bytes`.
        short: u64,
        /// `long_burst_bytes`.
        long: u64,
    },
}

impl Settings {
    /// Checks every value. The kernel side relies on this: it divides by `half_life`.
    ///
    /// # Errors
    /// All values that are wrong, in the order of the fields.
    pub fn validate(&self) -> Result<(), Vec<SettingsError>> {
        let (c, p) = (&self.classification, &self.placement);
        let bytes = |key, given, min, max| range(key, Bytes(given), Bytes(min), Bytes(max));
        let ns = |key, given, min, max| {
            range(key, Time::from_ns(given), Time::from_ns(min), Time::from_ns(max))
        };
        let time = |key, given: Duration, min, max| ns(key, Time::from(given).ns(), min, max);
        let mut errors: Vec<SettingsError> = [
            bytes("long-burst", c.long_burst_bytes, 2, 1 << 40),
            bytes("short-burst", c.short_burst_bytes, 1, 1 << 40),
            time("idle-gap", c.idle_gap, 1_000, 10_000_000_000),
            range("short-bursts-to-leave-long", c.short_bursts_to_leave_long, 1, 255),
            time("half-life", c.half_life, 1_000_000, 60_000_000_000),
            ns("cost-per-kib", c.cost_ns_per_kib, 1, 1_000_000),
            ns("cost-per-message", c.cost_ns_per_message, 0, 100_000_000),
            time("floor", c.floor, 1, 1_000_000_000),
            // the kernel's own range (kernel/sched/fair.c, __setparam_fair, 6.18)
            time("slice", p.slice, 100_000, 100_000_000),
            time("claim", p.claim, 1_000_000, 60_000_000_000),
            time("lend-after", p.lend_after, 0, 1_000_000_000),
            range("queue-cpus", p.queue_cpus, 1, 1024),
        ]
        .into_iter()
        .flatten()
        .collect();
        if c.short_burst_bytes >= c.long_burst_bytes {
            errors.push(SettingsError::Crossed {
                short: c.short_burst_bytes,
                long: c.long_burst_bytes,
            });
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

fn range<T: PartialOrd + Display>(
    key: &'static str,
    given: T,
    min: T,
    max: T,
) -> Option<SettingsError> {
    (given < min || given > max).then(|| SettingsError::OutOfRange {
        key,
        given: given.to_string(),
        allowed: format!("{min} to {max}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(Settings::default().validate(), Ok(()));
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let mut settings = Settings::default();
        settings.classification.half_life = Duration::ZERO;
        settings.placement.slice = Duration::from_secs(100);
        let errors = settings.validate().unwrap_err();
        let text: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "half-life: 0ns is out of range; allowed: 1ms to 60s",
                "slice: 100s is out of range; allowed: 100us to 100ms",
            ]
        );
    }

    #[test]
    fn crossed_bounds_are_refused() {
        let mut settings = Settings::default();
        settings.classification.short_burst_bytes = 64 * KIB;
        let errors = settings.validate().unwrap_err();
        assert!(errors[0].to_string().starts_with("short_burst_bytes = 65536 is not below"));
    }

    #[test]
    fn one_long_burst_is_above_the_floor() {
        let c = Classification::default();
        let cost = c.long_burst_bytes / KIB * c.cost_ns_per_kib;
        assert!(u128::from(cost) > c.floor.as_nanos());
    }
}
