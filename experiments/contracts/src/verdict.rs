//! Whether a scheduler keeps a contract: each group's share of CPU time against what the kernel's
//! own scheduler gives, limits, and the longest pause.

use serde::Serialize;

use super::mix::Mix;
use steer_ground::word::Word;
use steer_stats::median;
use steer_traffic::contend::GroupsReport;
use steer_traffic::contend::cgroup::Cgroup;

#[cfg(test)]
mod tests;

/// A share may also differ by this CPU time in the window, in seconds: about one turn of a thread. A
/// window may cut off a turn at either end, and that is much of a small share.
const TURN_S: f64 = 0.02;
/// CPUs may idle by this part more than under the kernel's scheduler.
const IDLE: f64 = 0.1;
/// A limit may be exceeded by this part of it, or by so much more than under the kernel's scheduler.
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

    fn share(&self, group: usize, of: &[usize]) -> f64 {
        self.cpus[group] / self.used(of)
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

/// A group's part of the CPU time of all groups; beside traffic, of those that share its CPUs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Share {
    pub(crate) group: String,
    /// Under the kernel's own scheduler.
    pub(crate) default: f64,
    /// What the other one should give: the same, or a share by weight.
    pub(crate) wanted: f64,
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
    let peers = peers(mix, group);
    let share = |samples: &[Sample]| middle(samples, |sample| sample.share(group, &peers));
    let pause = |samples: &[Sample]| middle(samples, |sample| sample.pauses_ms[group]);
    let (kernels, had) = (share(default), share(found));
    let wanted = mix.by_weight.as_ref().map_or(kernels, |shares| shares[group]);
    let of = middle(found, |sample| sample.used(&peers));
    let turn = TURN_S / f64::from(mix.seconds) / of;
    let allowed = (mix.share + disturbed(mix, default)) * wanted;
    let (default_pause_ms, pause_ms) = (pause(default), pause(found));
    let allowed_pause_ms = mix.pause_ms.max(PAUSE * default_pause_ms);
    Share {
        group: mix.groups[group].name.clone(),
        default: kernels,
        wanted,
        found: had,
        default_pause_ms,
        pause_ms,
        allowed_pause_ms,
        broken: unless([
            (Broken::Share, (had - wanted).abs() <= allowed.max(turn)),
            (Broken::Pause, pause_ms <= allowed_pause_ms),
        ]),
    }
}

/// The groups that a group's share is compared with. Traffic takes more of some CPUs than of others,
/// so that only groups on the same CPUs can be compared.
fn peers(mix: &Mix, group: usize) -> Vec<usize> {
    let cpus = |group: usize| &mix.groups[group].cpus;
    (0..mix.groups.len()).filter(|&other| !mix.traffic || cpus(other) == cpus(group)).collect()
}

/// How far the machine keeps the kernel's own scheduler from what threads that never sleep should
/// get of a limit. A busy machine stops the guest's CPUs. What a limited thread misses in a period
/// is lost, and what runs on while its CPU is stopped exceeds the limit.
fn disturbed(mix: &Mix, default: &[Sample]) -> f64 {
    let disturbed = |cgroup: &Cgroup| {
        let groups = mix.covered(cgroup);
        let threads: u16 = groups.iter().map(|&group| mix.groups[group].threads).sum();
        let spin = groups.iter().all(|&group| mix.groups[group].duty.is_none());
        let wanted = (f64::from(cgroup.max?.percent) / 100.0).min(threads.into());
        let had = middle(default, |sample| sample.used(&groups));
        spin.then(|| (had - wanted).abs() / wanted)
    };
    mix.cgroups.iter().filter_map(disturbed).fold(0.0, f64::max)
}

fn limits(mix: &Mix, default: &[Sample], found: &[Sample]) -> Vec<Limit> {
    let limit = |cgroup: &Cgroup| {
        let quota = f64::from(cgroup.max?.percent) / 100.0;
        let groups = mix.covered(cgroup);
        let used = |samples: &[Sample]| middle(samples, |sample| sample.used(&groups));
        let burst = cgroup.burst.unwrap_or_default().as_secs_f64() / f64::from(mix.seconds);
        let (expected, had) = (used(default), used(found));
        let kept = had <= expected.max(quota) + LIMIT * quota + burst;
        Some(Limit {
            cgroup: cgroup.path.clone(),
            quota,
            burst,
            default: expected,
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
    let kept = mix.traffic || had >= expected * (1.0 - IDLE - disturbed(mix, default));
    Total { default: expected, found: had, broken: unless([(Broken::Idle, kept)]) }
}

/// What is broken, from what holds. A comparison with a figure that is no number does not hold.
fn unless<const N: usize>(all: [(Broken, bool); N]) -> Vec<Broken> {
    all.into_iter().filter(|(_, holds)| !holds).map(|(broken, _)| broken).collect()
}

fn middle(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    median(&samples.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}
