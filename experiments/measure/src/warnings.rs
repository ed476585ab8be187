//! Warnings about a measurement, each with what to do about it.

use std::time::Duration;

use super::breakdown::Breakdown;
use super::report::Usage;
use super::sampler::Trigger;

/// Share of the busy time that may be unclassified before the map needs work.
const MUCH_UNCLASSIFIED: f64 = 0.1;

/// With fewer samples of busy time, shares are rough. At 400, a share of one half is accurate to ±
/// 5 %.
const FEW_SAMPLES: u64 = 400;

/// If the hypervisor takes a larger share of the CPUs' time, other figures become doubtful.
const MUCH_STEAL: f64 = 0.05;

/// Share of the CPUs' time that may be missing from the kernel's accounting.
const MUCH_UNACCOUNTED: f64 = 0.1;

/// If a measurement begins later than this after its --lead, it may miss what it should measure.
const LATE: Duration = Duration::from_millis(200);

/// The warnings, worst first.
pub(crate) fn warnings(
    breakdown: Option<&Breakdown>,
    usage: &Usage,
    was_throttled: bool,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let total = usage.total;
    let all_s = total.busy_s() + total.steal_s + total.iowait_s + total.idle_s;
    if total.steal_s > MUCH_STEAL * all_s {
        warnings.push(format!(
            "the hypervisor took {:.0} % of the CPUs' time: measure on a quieter machine",
            100.0 * total.steal_s / all_s
        ));
    }
    let Some(breakdown) = breakdown else {
        warnings
            .push("no sample of busy time, so no breakdown: run traffic, or measure longer".into());
        return warnings;
    };
    if breakdown.lost > 0 || was_throttled {
        warnings.push(format!(
            "{} samples were lost{}: the shares cover the others; measure fewer CPUs with --cpus",
            breakdown.lost,
            if was_throttled { ", and the kernel paused the sampling" } else { "" }
        ));
    }
    let unclassified = breakdown.kernel.get("unclassified").map_or(0.0, |share| share.total);
    if unclassified > MUCH_UNCLASSIFIED {
        warnings.push(format!(
            "{:.0} % of the busy time is unclassified: add the functions listed to \
             experiments/data/kernel-symbols.toml",
            100.0 * unclassified
        ));
    }
    if breakdown.samples < FEW_SAMPLES {
        warnings.push(format!(
            "only {} samples of busy time: the shares are rough; measure longer",
            breakdown.samples
        ));
    }
    if breakdown.event == Trigger::Clock.name() {
        warnings.push(
            "sampled by the clock, because there is no cycle counter: it cannot interrupt code that runs \
             with interrupts off, so such code shows up where they come on again. Hardware interrupts are \
             missing from the breakdown, and locks and wake-ups are less exact"
                .into(),
        );
    }
    warnings
}

/// Warns if the kernel did not account for all of the measured CPUs' time. The kernel counts ticks,
/// and a virtual CPU misses ticks while it waits for a CPU of its host.
pub(crate) fn unaccounted(usage: &Usage, duration_s: f64) -> Option<String> {
    let total = usage.total;
    let accounted_s = total.busy_s() + total.steal_s + total.iowait_s + total.idle_s;
    let missing = 1.0 - accounted_s / (duration_s * usage.by_cpu.len() as f64);
    (missing > MUCH_UNACCOUNTED).then(|| {
        format!(
            "the kernel accounted for only {:.0} % of the CPUs' time, so more CPUs may have \
             been in use: timer ticks were missed, as on virtual CPUs of an overloaded host; \
             give the machine more CPUs, or measure where it has its own",
            100.0 * (1.0 - missing)
        )
    })
}

/// Warns if the measurement began too late by this much.
pub(crate) fn late(by: Duration) -> Option<String> {
    (by > LATE).then(|| {
        format!(
            "the measurement began {:.1} s late, because the instruments took so long to open: give a \
             longer --lead",
            by.as_secs_f64()
        )
    })
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::super::breakdown::Share;
    use super::super::usage::CpuTime;
    use super::*;

    fn usage(steal_s: f64) -> Usage {
        let time = CpuTime { user_s: 1.0, idle_s: 1.0, steal_s, ..CpuTime::default() };
        Usage::new([(0, time)].into(), 2.0)
    }

    fn breakdown(event: Trigger, unclassified: f64) -> Breakdown {
        let share = Share { total: unclassified, ..Share::default() };
        Breakdown {
            event: event.name().into(),
            hz: 997,
            samples: 5000,
            lost: 0,
            user: 0.5,
            kernel: IndexMap::from([("unclassified".into(), share)]),
            top_unclassified: Vec::new(),
        }
    }

    #[test]
    fn a_clean_measurement_has_none() {
        let clean = breakdown(Trigger::Cycles, 0.05);
        assert_eq!(warnings(Some(&clean), &usage(0.0), false), [""; 0]);
    }

    #[test]
    fn time_that_nobody_accounted_for_is_said() {
        assert_eq!(unaccounted(&usage(0.0), 2.0), None);
        assert!(unaccounted(&usage(0.0), 4.0).unwrap().contains("50 % of the CPUs' time"));
    }

    #[test]
    fn a_late_start_is_said() {
        assert_eq!(late(LATE), None);
        assert!(late(Duration::from_millis(1500)).unwrap().contains("began 1.5 s late"));
    }

    #[test]
    fn each_warning_is_said_once() {
        let few = Breakdown { samples: 10, ..breakdown(Trigger::Cycles, 0.0) };
        let lost = Breakdown { lost: 7, ..breakdown(Trigger::Cycles, 0.0) };
        for (breakdown, usage, throttled, part) in [
            (Some(breakdown(Trigger::Clock, 0.0)), usage(0.0), false, "sampled by the clock"),
            (Some(breakdown(Trigger::Cycles, 0.2)), usage(0.0), false, "20 % of the busy time"),
            (Some(few), usage(0.0), false, "only 10 samples"),
            (Some(lost), usage(0.0), false, "7 samples were lost"),
            (Some(breakdown(Trigger::Cycles, 0.0)), usage(0.0), true, "paused"),
            (Some(breakdown(Trigger::Cycles, 0.0)), usage(2.0), false, "took 50 %"),
            (None, usage(0.0), false, "no breakdown"),
        ] {
            let warnings = warnings(breakdown.as_ref(), &usage, throttled);
            assert!(warnings.len() == 1 && warnings[0].contains(part), "{part}: {warnings:?}");
        }
    }
}
