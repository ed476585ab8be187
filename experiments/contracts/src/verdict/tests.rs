//! The arithmetic of verdicts, without a guest.

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
fn shares_by_weight_count_where_the_mix_has_some() {
    let mix = mix("groups = ['a', 'b']\nby-weight = [0.25, 0.75]\nseconds = 4");
    assert_eq!(broken(&mix, &[0.5, 0.5], &[0.25, 0.75]), []);
    assert_eq!(broken(&mix, &[0.5, 0.5], &[0.5, 0.5]), [Broken::Share, Broken::Share]);
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
fn where_the_machine_disturbs_the_kernels_scheduler_more_is_allowed() {
    let limited = mix("cgroups = ['p max=20%']\ngroups = ['x cgroup=p threads=2']");
    assert_eq!(broken(&limited, &[0.2], &[0.175]), [Broken::Idle]);
    // A quarter is lost, so another third may be.
    assert_eq!(broken(&limited, &[0.15], &[0.10]), []);
    assert_eq!(broken(&limited, &[0.15], &[0.09]), [Broken::Idle]);
    assert_eq!(broken(&limited, &[0.15], &[0.22]), [Broken::Limit]);
    assert_eq!(broken(&limited, &[0.3], &[0.305]), []);
    assert_eq!(broken(&limited, &[0.3], &[0.32]), [Broken::Limit]);
    let one_of_two_cpus = mix("cgroups = ['p max=200%']\ngroups = ['x cgroup=p']");
    assert_eq!(broken(&one_of_two_cpus, &[1.0], &[0.85]), [Broken::Idle]);
}

#[test]
fn beside_traffic_only_groups_on_the_same_cpus_are_compared() {
    let text = "groups = ['a cpus=0', 'b cpus=0', 'c cpus=1']\nalso-with-traffic = true";
    assert_eq!(broken(&mix(text), &[0.5, 0.5, 1.0], &[0.3, 0.3, 0.4]), []);
    assert_eq!(broken(&mix(text), &[0.5, 0.5, 1.0], &[0.3, 0.6, 1.0]).len(), 2);
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
