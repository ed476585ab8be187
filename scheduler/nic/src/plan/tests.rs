//! Plans for machines and NICs that do not exist.

use proptest::prelude::*;
use steer_topology::{Direction, QueueRef};

use super::*;
use crate::rule::PortRule;
use crate::setting::Value;
use crate::state::{ChannelState, Feature, IrqState, NapiState, RxQueue, TxQueue};

/// Two nodes of four cores with two threads each; the NIC hangs on node 1, CPUs 8 to 15.
pub(crate) fn machine() -> Machine {
    Machine::synthetic("package:2 core:4 pu:2", &[("eth0", "Package", 1)]).unwrap()
}

pub(super) fn cpus(list: &str) -> CpuSet {
    list.parse().unwrap()
}

pub(crate) fn pair(index: u32) -> QueueRef {
    QueueRef { direction: Direction::Both, index }
}

/// A NIC with `queues` of at most `max` channels; queue n's interrupt goes to CPU n.
pub(crate) fn nic(queues: u32, max: u32) -> NicState {
    let device =
        Device { name: "eth0".into(), pci: Some("0000:3b:00.0".into()), ifindex: 2, namespace: 1 };
    let combined = |combined| Channels { combined, other: 1, ..Channels::default() };
    let napi = |index| NapiState {
        id: 8000 + index,
        thread: None,
        thread_cpus: None,
        defer_hard_irqs: Some(0),
        gro_flush_timeout: Some(0),
        irq_suspend_timeout: Some(0),
    };
    NicState {
        device,
        driver: Some("ice".into()),
        operstate: Some("up".into()),
        speed_mbps: Some(100_000),
        node: Some(1),
        local_cpus: Some(cpus("8-15")),
        kind: None,
        below: Vec::new(),
        channels: Some(ChannelState { now: combined(queues), max: combined(max) }),
        rss_table: Some(crate::ethtool::rss::even(128, queues)),
        ntuple: Some(Feature { on: false, fixed: false }),
        rules: Some(0),
        port_rules: Vec::new(),
        rss_contexts: None,
        rings: None,
        coalesce: None,
        defer_hard_irqs: Some(0),
        gro_flush_timeout: Some(0),
        rx: (0..queues)
            .map(|index| RxQueue {
                index,
                rps: Some(CpuSet::new()),
                rfs_flows: Some(0),
                napi: Some(napi(index)),
            })
            .collect(),
        tx: (0..queues).map(|index| TxQueue { index, xps: Some(CpuSet::new()) }).collect(),
        irqs: (0..queues)
            .map(|index| IrqState {
                number: 40 + index,
                name: format!("ice-eth0-TxRx-{index}"),
                queue: Some(pair(index)),
                asked: cpus(&(index % 16).to_string()),
                effective: Some(cpus(&(index % 16).to_string())),
                fixed: false,
            })
            .collect(),
    }
}

pub(super) fn host() -> HostState {
    HostState { sock_flows: Some(0), irqbalance: Irqbalance::Absent }
}

fn planned(state: &NicState, mode: Mode) -> NicPlan {
    plan(&machine(), state, &host(), mode, &Options::default()).unwrap()
}

/// The CPUs that the plan's interrupts go to, by queue.
pub(super) fn irqs(plan: &NicPlan) -> Vec<(u32, String)> {
    let placed =
        plan.changes.iter().filter_map(|change| match (change.setting.what, &change.new) {
            (What::IrqAffinity(queue), Value::Cpus(cpus)) => Some((queue.index, cpus.to_string())),
            _ => None,
        });
    placed.collect()
}

/// The state after a plan, as a kernel that does what it is told would show it.
pub(super) fn carried_out(mut state: NicState, plan: &NicPlan) -> NicState {
    for change in &plan.changes {
        if let (What::Channels, Value::Channels(now)) = (change.setting.what, &change.new) {
            let max = state.channels.unwrap().max;
            let (local_cpus, rss_contexts) = (state.local_cpus, state.rss_contexts);
            state = NicState { local_cpus, rss_contexts, ..nic(now.combined, max.combined) };
        }
    }
    for change in &plan.changes {
        match (change.setting.what, change.new.clone()) {
            (What::IrqAffinity(queue), Value::Cpus(cpus)) => {
                state.irqs[queue.index as usize].asked = cpus;
            }
            (What::Xps(queue), Value::Cpus(cpus)) => state.tx[queue as usize].xps = Some(cpus),
            (What::Rps(queue), Value::Cpus(cpus)) => state.rx[queue as usize].rps = Some(cpus),
            (What::RssTable, Value::Table(table)) => state.rss_table = Some(table),
            (What::Ntuple, Value::Switch(on)) => state.ntuple.as_mut().unwrap().on = on,
            (What::RssContext(queues), _) => state.rss_contexts.as_mut().unwrap().push(queues),
            (What::Rule(packets), Value::Queues(queues)) => {
                state.port_rules.push(PortRule { packets, queues: Some(queues) });
            }
            (What::NapiThread(queue), Value::Cpus(cpus)) => {
                state.rx[queue as usize].napi.as_mut().unwrap().thread_cpus = Some(cpus);
            }
            _ => {}
        }
    }
    state
}

#[test]
fn keep_changes_nothing() {
    assert_eq!(planned(&nic(16, 16), Mode::Keep).changes, []);
}

#[test]
fn align_uses_a_queue_for_each_core_near_the_nic() {
    let plan = planned(&nic(16, 16), Mode::Align);
    let places = [(0, "8"), (1, "10"), (2, "12"), (3, "14")];
    assert_eq!(irqs(&plan), places.map(|(queue, cpu)| (queue, cpu.to_owned())));
    let order: Vec<String> =
        plan.changes.iter().map(|change| change.setting.what.to_string()).collect();
    assert_eq!(order[..2], ["RSS table", "channels"], "the table leaves queues before they go");
    assert_eq!(plan.changes[1].new.to_string(), "4 combined");
    assert_eq!(plan.changes[1].shell, "ethtool -L eth0 combined 4");
    assert_eq!(plan.changes[1].undo.as_deref(), Some("ethtool -L eth0 combined 16"));
    let xps = plan.changes.iter().find(|change| change.setting.what == What::Xps(1)).unwrap();
    let Value::Cpus(senders) = &xps.new else { panic!("{xps:?}") };
    assert!(senders.contains(10) && senders.contains(11), "{senders}: the core and its sibling");
    assert_eq!(senders.len(), 4, "16 CPUs send by 4 queues");
}

#[test]
fn channels_grow_before_the_table_names_them() {
    let plan = planned(&nic(2, 16), Mode::Align);
    let first: Vec<What> = plan.changes.iter().map(|change| change.setting.what).take(2).collect();
    assert_eq!(first, [What::Channels, What::RssTable]);
    let later = plan.changes.iter().find(|c| c.setting.what == What::IrqAffinity(pair(3))).unwrap();
    assert_eq!((later.old.clone(), later.undo.clone()), (None, None));
    assert!(later.shell.starts_with("# once rx-3/tx-3 is in use"), "{}", later.shell);
}

#[test]
fn threads_of_napi_go_beside_the_interrupts() {
    let mut state = nic(4, 4);
    for rx in &mut state.rx {
        let napi = rx.napi.as_mut().unwrap();
        (napi.thread, napi.thread_cpus) = (Some(300 + rx.index), Some(cpus("0-15")));
    }
    let plan = planned(&state, Mode::Align);
    let threads: Vec<&Change> = plan
        .changes
        .iter()
        .filter(|change| matches!(change.setting.what, What::NapiThread(_)))
        .collect();
    let places: Vec<String> = threads.iter().map(|change| change.shell.clone()).collect();
    assert_eq!(
        places,
        ["8 300", "10 301", "12 302", "14 303"].map(|it| format!("taskset -cp {it}"))
    );
    assert_eq!(threads[3].undo.as_deref(), Some("taskset -cp 0-15 303"));
    assert_eq!(planned(&carried_out(state, &plan), Mode::Align).changes, [], "they stay there");
}

#[test]
fn siblings_serve_once_cores_have_run_out() {
    let mut state = nic(6, 6);
    state.channels = None;
    let plan = planned(&state, Mode::Align);
    let places: Vec<String> = irqs(&plan).into_iter().map(|(_, cpu)| cpu).collect();
    assert_eq!(places, ["8", "10", "12", "14", "9", "11"]);
}

#[test]
fn what_is_in_place_already_stays() {
    let mut state = nic(4, 4);
    for (queue, cpu) in [(0, "12"), (1, "8"), (2, "8"), (3, "3")] {
        state.irqs[queue].asked = cpus(cpu);
    }
    let moved = [(2, "10".to_owned()), (3, "14".to_owned())];
    assert_eq!(irqs(&planned(&state, Mode::Align)), moved);
}

#[test]
fn under_low_load_fewer_cores_take_interrupts_of_the_same_channels() {
    let active = |active| Options { active: Some(active), ..Options::default() };
    let planned =
        |state: &NicState, active| plan(&machine(), state, &host(), Mode::Align, &active).unwrap();
    let all = carried_out(nic(4, 4), &planned(&nic(4, 4), active(4)));
    let fewer = planned(&all, active(3));
    assert_eq!(irqs(&fewer), [(3, "8".to_owned())], "the others stay");
    assert!(fewer.changes.iter().all(|change| change.setting.what != What::Channels));
    let again = planned(&carried_out(all, &fewer), active(4));
    assert_eq!(irqs(&again), [(3, "14".to_owned())]);
}

#[test]
fn a_device_without_anything_to_align_is_told_so() {
    let refused = |state: &NicState, mode| {
        plan(&machine(), state, &host(), mode, &Options::default()).unwrap_err().why
    };
    let mut state = nic(1, 1);
    (state.channels, state.rss_table) = (None, None);
    state.irqs.clear();
    assert!(refused(&state, Mode::Align).contains("no interrupts of its own"));
    planned(&state, Mode::Rfs);
    state.kind = Some("bridge".into());
    assert!(refused(&state, Mode::Rfs).ends_with("none below this one"));
    state.below = vec!["eth0".into(), "eth1".into()];
    for mode in [Mode::Align, Mode::Rfs, Mode::Arfs, Mode::BusyPoll] {
        assert!(refused(&state, mode).ends_with("name these instead: eth0, eth1"));
    }
    assert_eq!(planned(&state, Mode::Keep).changes, []);
}

#[test]
fn auto_is_for_the_scheduler_to_judge() {
    let refusal = plan(&machine(), &nic(4, 4), &host(), Mode::Auto, &Options::default());
    assert!(refusal.unwrap_err().why.contains("--nic-mode"));
}

#[test]
fn an_interrupt_that_cannot_move_is_said_and_left() {
    let mut state = nic(4, 4);
    state.irqs[1].fixed = true;
    let plan = planned(&state, Mode::Align);
    assert_eq!(irqs(&plan).len(), 3);
    assert_eq!(plan.notes, ["the interrupt of rx-1/tx-1 cannot be moved"]);
}

#[test]
fn an_irqbalance_is_asked_to_leave_what_is_moved() {
    let banned = HostState { irqbalance: Irqbalance::Banned([40].into()), ..host() };
    let plan_with =
        |host: &HostState| plan(&machine(), &nic(4, 4), host, Mode::Align, &Options::default());
    let bans: Vec<What> = plan_with(&banned)
        .unwrap()
        .changes
        .iter()
        .map(|change| change.setting.what)
        .filter(|what| matches!(what, What::IrqbalanceBan(_)))
        .collect();
    assert_eq!(bans, [1, 2, 3].map(|index| What::IrqbalanceBan(pair(index))));
    let deaf = HostState { irqbalance: Irqbalance::Deaf, ..host() };
    let refusal = plan_with(&deaf).unwrap_err().to_string();
    assert!(refusal.starts_with("eth0 cannot have the mode align: irqbalance runs"), "{refusal}");
}

#[test]
fn a_nic_of_unknown_place_needs_cpus() {
    let mut state = nic(4, 4);
    state.local_cpus = None;
    let refusal = plan(&machine(), &state, &host(), Mode::Align, &Options::default()).unwrap_err();
    assert!(refusal.why.contains("--cpus"), "{refusal}");
    let options = Options { cpus: Some(cpus("2,3,6")), ..Options::default() };
    let plan = plan(&machine(), &state, &host(), Mode::Align, &options).unwrap();
    assert_eq!(plan.changes[1].new.to_string(), "2 combined", "2 and 3 are one core");
    assert_eq!(irqs(&plan), [(0, "2".to_owned()), (1, "6".to_owned())]);
}

#[test]
fn rfs_gives_the_host_and_each_queue_a_table() {
    let plan = planned(&nic(4, 4), Mode::Rfs);
    let of = |what| plan.changes.iter().find(|c| c.setting.what == what).unwrap().new.to_string();
    assert_eq!(of(What::SockFlows), "65536");
    assert_eq!(of(What::RpsFlows(3)), "16384");
    assert!(plan.changes.iter().all(|c| !matches!(c.setting.what, What::Rps(_))));
    let mut one = nic(1, 1);
    one.tx[0].xps = None;
    let plan = planned(&one, Mode::Rfs);
    let rps = plan.changes.iter().find(|c| c.setting.what == What::Rps(0)).unwrap();
    assert_eq!(rps.new.to_string(), "CPU 8,10,12,14", "one queue, four cores");
    assert_eq!(rps.shell, "echo 5500 > /sys/class/net/eth0/queues/rx-0/rps_cpus");
}

#[test]
fn arfs_needs_filters_that_the_driver_takes() {
    let mut state = nic(4, 4);
    let plan = planned(&state, Mode::Arfs);
    assert!(plan.changes.iter().any(|change| change.shell == "ethtool -K eth0 ntuple on"));
    state.ntuple = Some(Feature { on: false, fixed: true });
    let host = host();
    let refused = super::plan(&machine(), &state, &host, Mode::Arfs, &Options::default());
    assert!(refused.unwrap_err().why.contains("fixed off"));
}

#[test]
fn busy_poll_sets_each_context_or_else_the_device() {
    let mut state = nic(4, 4);
    let plan = planned(&state, Mode::BusyPoll);
    let suspend = plan.changes.iter().find(|c| c.setting.what == What::NapiSuspend(3)).unwrap();
    assert_eq!(
        suspend.shell,
        r#"ynl --family netdev --do napi-set --json '{"id": 8003, "irq-suspend-timeout": 20000000}'"#
    );
    state.rx.iter_mut().for_each(|rx| rx.napi = None);
    let plan = planned(&state, Mode::BusyPoll);
    assert!(plan.changes.iter().any(|change| change.setting.what == What::DeviceFlush));
    assert!(plan.notes[0].contains("6.13"), "{:?}", plan.notes);
}

proptest! {
    /// Whatever the NIC: interrupts go to online CPUs near it, every CPU sends by exactly one
    /// queue, and a host that has done what the plan says needs no other.
    #[test]
    fn a_plan_is_sound_and_final(queues in 1u32..20, more in 0u32..20, fixed in any::<bool>()) {
        let mut state = nic(queues, queues + more);
        if fixed {
            state.channels = None;
        }
        let plan = planned(&state, Mode::Align);
        for (_, cpu) in irqs(&plan) {
            prop_assert!(cpus("8-15").contains(cpu.parse().unwrap()));
        }
        let after = carried_out(state, &plan);
        if after.tx.len() > 1 {
            for cpu in 0..16 {
                let by = after.tx.iter().filter(|tx| tx.xps.as_ref().unwrap().contains(cpu));
                prop_assert_eq!(by.count(), 1, "CPU {}", cpu);
            }
        }
        let again = planned(&after, Mode::Align).changes;
        prop_assert!(again.is_empty(), "{:?}", again);
    }
}
