//! Bounds that both steer-policy and the kernel side (bpf/src/bpf/intf.h) know are the same. policy/
//! knows nothing of BPF, so each has numbers of its own.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use steer_bpf::intf;
use steer_policy::{
    Cores, MAX_CGROUPS, MAX_POLICIES, MAX_POOLS, MAX_PROCESS_NAME, MAX_PROCESSES, Settings,
};

#[test]
fn tables_hold_as_much_as_policy_allows() {
    assert_eq!(MAX_POLICIES, intf::limits_MAX_POLICIES as usize);
    assert_eq!(MAX_CGROUPS, intf::limits_MAX_CGROUPS as usize);
    assert_eq!(MAX_PROCESSES, intf::limits_MAX_PROCESSES as usize);
    assert_eq!(MAX_POOLS, intf::limits_MAX_POOLS as usize);
    assert_eq!(Cores::MAX, intf::limits_MAX_CPUS);
}

/// A pool's number and a count of processes are each one byte, and pools count from 1.
#[test]
fn numbers_fit_their_fields() {
    assert!(MAX_POOLS < usize::from(u8::MAX));
    assert!(MAX_PROCESSES <= usize::from(u8::MAX));
}

#[test]
fn a_process_name_is_as_long_as_the_kernel_has_it() {
    let rule = intf::process_policy { name: [0; _], len: 0, policy: 0 };
    assert_eq!(MAX_PROCESS_NAME, rule.name.len());
    assert!(MAX_PROCESS_NAME <= usize::from(u8::MAX), "its length is one byte");
}

/// A flow counts its short bursts in one byte; with a larger setting it would stay long for ever.
#[test]
fn a_flow_can_count_as_many_short_bursts_as_a_setting_allows() {
    fn most_of(_: u8) -> u32 {
        u8::MAX.into()
    }
    // SAFETY: a struct of integers.
    let flow: intf::flow = unsafe { std::mem::zeroed() };
    let most = most_of(flow.short_bursts);
    let valid = |bursts| {
        let mut settings = Settings::default();
        settings.classification.short_bursts_to_leave_long = bursts;
        settings.validate().is_ok()
    };
    assert!(valid(most) && !valid(most + 1));
}

/// BPF divides by the half-life, so no valid setting makes it zero.
#[test]
fn the_half_life_is_never_zero() {
    let mut settings = Settings::default();
    settings.classification.half_life = std::time::Duration::ZERO;
    settings.validate().unwrap_err();
}
