//! Warnings about a measurement, each with what to do about it.

use std::time::Duration;

use super::breakdown::Breakdown;
use super::report::Usage;
use super::sampler::Trigger;
use steer_ground::warning::{Kind, Warning};

/// Share of the busy time that may be unclassified before the map needs work.
const MUCH_UNCLASSIFIED: f64 = 0.1;

/// With fewer samples of busy time, shares are rough. At 400, a share of one half is accurate to ±
/// 5 %.
const FEW_SAMPLES: u64 = 400;

/// If the hypervisor takes a larger share of the CPUs' time, other figures become doubtful.
const MUCH_STEAL: f64 = 0.05;

/// Share of the CPUs' time that may be missing from the kernel's accounting.
const MUCH_UNACCOUNTED: f64 = 0.1;

/// A measurement that begins more than this after its --lead is late.
const LATE: Duration = Duration::from_millis(200);

/// The warnings, worst first.
pub(crate) fn warnings(
    breakdown: Option<&Breakdown>,
    usage: &Usage,
    was_throttled: bool,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, text: String| warnings.push(Warning::new(kind, text));
    let total = usage.total;
    let all_s = total.busy_s() + total.steal_s + total.iowait_s + total.idle_s;
    if total.steal_s > MUCH_STEAL * all_s {
        let percent = 100.0 * total.steal_s / all_s;
        warn(
            Kind::Steal,
            format!(
                "the hypervisor took {percent:.0} % of the CPUs' time: measure on a quieter machine"
            ),
        );
    }
    let Some(breakdown) = breakdown else {
        let text = "no sample of busy time, so no breakdown: run traffic, or measure longer";
        warn(Kind::NoBreakdown, text.into());
        return warnings;
    };
    if breakdown.lost > 0 || was_throttled {
        let paused = if was_throttled { ", and the kernel paused the sampling" } else { "" };
        let text = format!(
            "{} samples were lost{paused}: the shares cover the others; measure fewer CPUs with --cpus",
            breakdown.lost
        );
        warn(Kind::LostSamples, text);
    }
    let unclassified = breakdown.kernel.get("unclassified").map_or(0.0, |share| share.total);
    if unclassified > MUCH_UNCLASSIFIED {
        let text = format!(
            "{:.0} % of the busy time is unclassified: add the functions listed to \
             experiments/data/kernel-symbols.toml",
            100.0 * unclassified
        );
        warn(Kind::Unclassified, text);
    }
    if breakdown.samples < FEW_SAMPLES {
        let samples = breakdown.samples;
        warn(
            Kind::FewSamples,
            format!("only {samples} samples of busy time: the shares are rough; measure longer"),
        );
    }
    if breakdown.event == Trigger::Clock.name() {
        let text = "sampled by the clock, because there is no cycle counter: it cannot interrupt \
            code that runs with interrupts off, so such code shows up where they come on again. \
            Hardware interrupts are missing from the breakdown, and locks and wake-ups are less exact";
        warn(Kind::SampledByClock, text.into());
    }
    warnings
}

/// Warns if the kernel's accounting lacks part of the measured CPUs' time. The kernel accounts at
/// timer ticks. A virtual CPU misses ticks while it waits for a CPU of its host.
pub(crate) fn unaccounted(usage: &Usage, duration_s: f64) -> Option<Warning> {
    let total = usage.total;
    let accounted_s = total.busy_s() + total.steal_s + total.iowait_s + total.idle_s;
    let missing = 1.0 - accounted_s / (duration_s * usage.by_cpu.len() as f64);
    (missing > MUCH_UNACCOUNTED).then(|| {
        let text = format!(
            "the kernel accounted for only {:.0} % of the CPUs' time, so more CPUs may have \
             been in use: timer ticks were missed, as on virtual CPUs of an overloaded host; \
             give the machine more CPUs, or measure where it has its own",
            100.0 * (1.0 - missing)
        );
        Warning::new(Kind::Unaccounted, text)
    })
}

/// Warns if the measurement began too late by this much.
pub(crate) fn late(by: Duration) -> Option<Warning> {
    (by > LATE).then(|| {
        let text = format!(
            "the measurement began {:.1} s late, because the instruments took so long to open: give a \
             longer --lead",
            by.as_secs_f64()
        );
        Warning::new(Kind::LateStart, text)
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
        assert_eq!(warnings(Some(&clean), &usage(0.0), false), []);
    }

    #[test]
    fn time_that_nobody_accounted_for_is_said() {
        assert_eq!(unaccounted(&usage(0.0), 2.0), None);
        let warning = unaccounted(&usage(0.0), 4.0).unwrap();
        assert!(warning.text.contains("50 % of the CPUs' time"), "{warning}");
    }

    #[test]
    fn a_late_start_is_said() {
        assert_eq!(late(LATE), None);
        assert!(late(Duration::from_millis(1500)).unwrap().text.contains("began 1.5 s late"));
    }

    #[test]
    fn each_warning_is_said_once() {
        let few = Breakdown { samples: 10, ..breakdown(Trigger::Cycles, 0.0) };
        let lost = Breakdown { lost: 7, ..breakdown(Trigger::Cycles, 0.0) };
        let clean = || breakdown(Trigger::Cycles, 0.0);
        let clock = breakdown(Trigger::Clock, 0.0);
        let rest = breakdown(Trigger::Cycles, 0.2);
        for (breakdown, steal_s, throttled, kind, part) in [
            (Some(clock), 0.0, false, Kind::SampledByClock, "sampled by the clock"),
            (Some(rest), 0.0, false, Kind::Unclassified, "20 % of the busy time"),
            (Some(few), 0.0, false, Kind::FewSamples, "only 10 samples"),
            (Some(lost), 0.0, false, Kind::LostSamples, "7 samples were lost"),
            (Some(clean()), 0.0, true, Kind::LostSamples, "paused"),
            (Some(clean()), 2.0, false, Kind::Steal, "took 50 %"),
            (None, 0.0, false, Kind::NoBreakdown, "no breakdown"),
        ] {
            let warnings = warnings(breakdown.as_ref(), &usage(steal_s), throttled);
            let [one] = &warnings[..] else { panic!("{part}: {warnings:?}") };
            assert!(one.kind == kind && one.text.contains(part), "{part}: {one:?}");
        }
    }
}
