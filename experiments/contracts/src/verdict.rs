//! Whether a scheduler keeps a contract: each group's share of CPU time against what the kernel's
//! own scheduler gives, limits, and the longest pause.

use serde::Serialize;

use super::mix::Mix;
use steer_ground::word::Word;
use steer_stats::median;
use steer_traffic::contend::GroupsReport;
use steer_traffic::contend::cgroup::Cgroup;

/// A share may differ from the kernel's by this part of it.
const SHARE: f64 = 0.1;
/// ... or by this CPU time in the window, in seconds: about one turn of a thread. A window may cut
/// off a turn at either end, and that is much of a small share.
const TURN_S: f64 = 0.02;
/// A limit may be exceeded by this part of it.
const LIMIT: f64 = 0.05;
/// A pause may be this many times as long as under the kernel's own scheduler, if that is more than
/// the mix allows. A busy machine stops the guest's CPUs, and so its threads, under any scheduler.
const PAUSE: f64 = 2.0;

/// One measurement of a mix under one scheduler.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// CPU time of each group per second of the window.
    pub(crate) cpus: Vec<f64>,
    /// Longest pause of each group in milliseconds.
    pub(crate) pauses_ms: Vec<f64>,
}

impl Sample {
    pub(crate) fn of(report: &GroupsReport) -> Self {
        let groups = report.groups.iter();
        Self {
            cpus: groups.clone().map(|group| group.cpu_s / report.window_s).collect(),
            pauses_ms: groups.map(|group| group.longest_pause_ms()).collect(),
        }
    }

    fn total(&self) -> f64 {
        self.cpus.iter().sum()
    }

    fn share(&self, group: usize) -> f64 {
        self.cpus[group] / self.total()
    }

    /// CPUs that some of the groups used together.
    fn used(&self, groups: &[usize]) -> f64 {
        groups.iter().map(|&group| self.cpus[group]).sum()
    }
}

/// What was found for one mix.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Judged {
    pub(crate) mix: String,
    /// Measurements under each scheduler. The figures are their medians.
    pub(crate) measured: usize,
    pub(crate) shares: Vec<Share>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) total: Total,
}

impl Judged {
    /// Whether nothing is broken.
    pub(crate) fn kept(&self) -> bool {
        let shares = self.shares.iter().map(|share| &share.broken);
        let limits = self.limits.iter().map(|limit| &limit.broken);
        shares.chain(limits).chain([&self.total.broken]).all(Vec::is_empty)
    }
}

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Broken {
    /// A share differs from what the kernel's scheduler gives.
    Share,
    /// A runnable thread waited too long.
    Pause,
    /// A limit is exceeded.
    Limit,
    /// CPUs idle that the kernel's scheduler keeps busy.
    Idle,
}

impl Word for Broken {
    const ALL: &'static [Self] = &[Self::Share, Self::Pause, Self::Limit, Self::Idle];

    fn word(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Pause => "pause",
            Self::Limit => "limit",
            Self::Idle => "idle",
        }
    }
}

/// A group's part of the CPU time of all groups.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Share {
    pub(crate) group: String,
    /// Under the kernel's own scheduler.
    pub(crate) default: f64,
    /// Under the other one.
    pub(crate) found: f64,
    /// Longest pauses in milliseconds.
    pub(crate) default_pause_ms: f64,
    pub(crate) pause_ms: f64,
    /// Longest pause that is allowed.
    pub(crate) allowed_pause_ms: f64,
    pub(crate) broken: Vec<Broken>,
}

/// A cgroup's limit (cpu.max), in CPUs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Limit {
    pub(crate) cgroup: String,
    pub(crate) quota: f64,
    /// What a burst (cpu.max.burst) may add in this window.
    pub(crate) burst: f64,
    pub(crate) default: f64,
    pub(crate) found: f64,
    pub(crate) broken: Vec<Broken>,
}

/// CPUs that all groups used together.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Total {
    pub(crate) default: f64,
    pub(crate) found: f64,
    pub(crate) broken: Vec<Broken>,
}

/// Judges a mix by the medians of its measurements. There must be at least one of each.
pub(crate) fn judge(mix: &Mix, default: &[Sample], found: &[Sample]) -> Judged {
    Judged {
        mix: mix.name.clone(),
        measured: default.len().min(found.len()),
        shares: (0..mix.groups.len()).map(|group| share(mix, group, default, found)).collect(),
        limits: limits(mix, default, found),
        total: total(mix, default, found),
    }
}

fn share(mix: &Mix, group: usize, default: &[Sample], found: &[Sample]) -> Share {
    let share = |samples: &[Sample]| middle(samples, |sample| sample.share(group));
    let pause = |samples: &[Sample]| middle(samples, |sample| sample.pauses_ms[group]);
    let (expected, had) = (share(default), share(found));
    let turn = TURN_S / f64::from(mix.seconds) / middle(found, Sample::total);
    let (default_pause_ms, pause_ms) = (pause(default), pause(found));
    let allowed_pause_ms = mix.pause_ms.max(PAUSE * default_pause_ms);
    Share {
        group: mix.groups[group].name.clone(),
        default: expected,
        found: had,
        default_pause_ms,
        pause_ms,
        allowed_pause_ms,
        broken: unless([
            (Broken::Share, (had - expected).abs() <= (SHARE * expected).max(turn)),
            (Broken::Pause, pause_ms <= allowed_pause_ms),
        ]),
    }
}

fn limits(mix: &Mix, default: &[Sample], found: &[Sample]) -> Vec<Limit> {
    let limit = |cgroup: &Cgroup| {
        let quota = f64::from(cgroup.max?.percent) / 100.0;
        let groups = mix.covered(cgroup);
        let used = |samples: &[Sample]| middle(samples, |sample| sample.used(&groups));
        let burst = cgroup.burst.unwrap_or_default().as_secs_f64() / f64::from(mix.seconds);
        let had = used(found);
        let kept = had <= quota * (1.0 + LIMIT) + burst;
        Some(Limit {
            cgroup: cgroup.path.clone(),
            quota,
            burst,
            default: used(default),
            found: had,
            broken: unless([(Broken::Limit, kept)]),
        })
    };
    mix.cgroups.iter().filter_map(limit).collect()
}

/// Beside traffic, the groups together may have less or more: the traffic also takes CPU time.
fn total(mix: &Mix, default: &[Sample], found: &[Sample]) -> Total {
    let total = |samples: &[Sample]| middle(samples, Sample::total);
    let (expected, had) = (total(default), total(found));
    let kept = mix.traffic || had >= expected * (1.0 - SHARE);
    Total { default: expected, found: had, broken: unless([(Broken::Idle, kept)]) }
}

/// What is broken, from what holds. A comparison with a figure that is no number does not hold.
fn unless<const N: usize>(all: [(Broken, bool); N]) -> Vec<Broken> {
    all.into_iter().filter(|(_, holds)| !holds).map(|(broken, _)| broken).collect()
}

fn middle(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    median(&samples.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mix(lines: &str) -> Mix {
        let text = format!("[[mix]]\nname = 'x'\npause-ms = 100\n{lines}");
        Mix::read(&text).unwrap().pop().unwrap()
    }

    fn two() -> Mix {
        mix("groups = ['a', 'b']\nseconds = 4")
    }

    /// A measurement without pauses.
    fn sample(cpus: &[f64]) -> Sample {
        Sample { cpus: cpus.to_vec(), pauses_ms: vec![0.0; cpus.len()] }
    }

    fn broken(mix: &Mix, default: &[f64], found: &[f64]) -> Vec<Broken> {
        let judged = judge(mix, &[sample(default)], &[sample(found)]);
        let shares = judged.shares.into_iter().flat_map(|share| share.broken);
        let limits = judged.limits.into_iter().flat_map(|limit| limit.broken);
        shares.chain(limits).chain(judged.total.broken).collect()
    }

    #[test]
    fn shares_may_differ_by_a_tenth() {
        for (found, kept) in
            [([0.25, 0.75], true), ([0.27, 0.73], true), ([0.23, 0.77], true), ([0.5, 0.5], false)]
        {
            assert_eq!(broken(&two(), &[0.25, 0.75], &found).is_empty(), kept, "{found:?}");
        }
        assert_eq!(broken(&two(), &[0.25, 0.75], &[0.29, 0.71]), [Broken::Share]);
    }

    #[test]
    fn a_small_share_may_differ_by_a_turn() {
        // 20 ms of 4 s are 0.005.
        for (found, kept) in [(0.014, true), (0.006, true), (0.016, false), (0.004, false)] {
            let found = [found, 1.0 - found];
            assert_eq!(broken(&two(), &[0.01, 0.99], &found).is_empty(), kept, "{found:?}");
        }
    }

    #[test]
    fn cpus_must_not_idle_more_than_under_the_kernels_scheduler() {
        assert_eq!(broken(&two(), &[1.0, 1.0], &[0.89, 0.89]), [Broken::Idle]);
        assert_eq!(broken(&two(), &[1.0, 1.0], &[0.91, 0.91]), []);
        assert_eq!(broken(&two(), &[1.0, 1.0], &[1.5, 1.5]), []);
        let beside_traffic = mix("groups = ['a', 'b']\nalso-with-traffic = true");
        assert_eq!(broken(&beside_traffic, &[1.0, 1.0], &[0.5, 0.5]), []);
    }

    #[test]
    fn limits_hold_for_all_groups_below_and_take_bursts_into_account() {
        let limited = mix("cgroups = ['p max=50%', 'p/x', 'p/y', 'q']\n\
                           groups = ['x cgroup=p/x', 'y cgroup=p/y', 'q cgroup=q']");
        assert_eq!(broken(&limited, &[0.25, 0.25, 1.0], &[0.26, 0.26, 1.0]), []);
        assert_eq!(broken(&limited, &[0.25, 0.25, 1.0], &[0.265, 0.265, 1.0]), [Broken::Limit]);
        // 60 ms of 3 s are 0.02.
        let bursts = mix("cgroups = ['p max=50% burst-ms=60']\ngroups = ['x cgroup=p']");
        assert_eq!(broken(&bursts, &[0.5], &[0.54]), []);
        assert_eq!(broken(&bursts, &[0.5], &[0.55]), [Broken::Limit]);
    }

    #[test]
    fn pauses_are_bounded_by_the_mix_or_by_what_a_busy_machine_does_to_the_kernels_scheduler() {
        let with = |pause_ms| Sample { cpus: vec![1.0, 1.0], pauses_ms: vec![0.0, pause_ms] };
        let kept = |default, found| judge(&two(), &[with(default)], &[with(found)]).kept();
        assert!(kept(0.0, 100.0) && !kept(0.0, 101.0));
        assert!(kept(80.0, 160.0) && !kept(80.0, 161.0));
    }

    #[test]
    fn medians_decide() {
        let samples = |shares: [f64; 3]| shares.map(|share| sample(&[share, 1.0 - share]));
        let default = samples([0.5, 0.5, 0.5]);
        assert!(judge(&two(), &default, &samples([0.9, 0.5, 0.52])).kept());
        assert!(!judge(&two(), &default, &samples([0.9, 0.5, 0.7])).kept());
    }

    #[test]
    fn groups_that_never_ran_break_the_contract() {
        let all = [Broken::Share, Broken::Share, Broken::Idle];
        assert_eq!(broken(&two(), &[0.5, 0.5], &[0.0, 0.0]), all);
    }

    proptest! {
        #[test]
        fn a_scheduler_keeps_its_own_contracts(cpus in prop::collection::vec(0.001..4.0f64, 2)) {
            prop_assert_eq!(broken(&two(), &cpus, &cpus), []);
        }

        #[test]
        fn what_is_kept_is_close(a in 0.05..0.95f64, b in 0.0..1.0f64) {
            let kept = broken(&two(), &[a, 1.0 - a], &[b, 1.0 - b]).is_empty();
            prop_assert!(!kept || (b - a).abs() <= 0.1 * a + 0.0051, "{} {}", a, b);
        }
    }
}
