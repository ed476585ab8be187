//! Plans of the mode `rules`. The machine and the NIC are those of `tests`: CPUs 8 to 15 are near it,
//! two on each core.

use proptest::prelude::*;
use steer_policy::{Pool, Port, Protocol};

use super::tests::{carried_out, cpus, host, irqs, machine, nic};
use super::*;
use crate::queues::Queues;
use crate::rule::{Match, PortRule};
use crate::state::Feature;

fn served(number: u16, pool: Pool, exclusive: bool) -> PortPool {
    PortPool { port: Port { protocol: Protocol::Tcp, number }, pool, exclusive }
}

fn on(list: &str) -> Pool {
    Pool::Cpus(cpus(list))
}

fn planned(state: &NicState, ports: Vec<PortPool>) -> Result<NicPlan, String> {
    let options = Options { ports, ..Options::default() };
    plan(&machine(), state, &host(), Mode::Rules, &options).map_err(|refusal| refusal.why)
}

/// With room for further RSS tables.
fn roomy(queues: u32, max: u32) -> NicState {
    NicState { rss_contexts: Some(Vec::new()), ..nic(queues, max) }
}

/// The shell lines that begin with `start`.
fn lines<'a>(plan: &'a NicPlan, start: &str) -> Vec<&'a str> {
    let lines = plan.changes.iter().map(|change| change.shell.as_str());
    lines.filter(|line| line.starts_with(start)).collect()
}

#[test]
fn a_port_goes_to_the_queue_of_its_pool() {
    let plan = planned(&nic(4, 4), vec![served(443, on("10-11"), false)]).unwrap();
    // the pool's core comes first: queue 0
    assert_eq!(irqs(&plan)[0], (0, "10".to_owned()));
    assert_eq!(
        lines(&plan, "ethtool -N"),
        [
            "ethtool -N eth0 flow-type tcp4 dst-port 443 queue 0",
            "ethtool -N eth0 flow-type tcp6 dst-port 443 queue 0",
        ]
    );
    assert_eq!(lines(&plan, "ethtool -K"), ["ethtool -K eth0 ntuple on"]);
    assert!(lines(&plan, "ethtool -X").is_empty(), "other packets use the queue as well");
    let undone = "# ethtool -n eth0 shows the rule for tcp6 443: ethtool -N eth0 delete ID";
    assert!(plan.changes.iter().any(|change| change.undo.as_deref() == Some(undone)));
}

#[test]
fn other_packets_stay_off_an_exclusive_pool() {
    let plan = planned(&nic(4, 4), vec![served(443, on("10-11"), true)]).unwrap();
    assert_eq!(lines(&plan, "ethtool -X"), ["ethtool -X eth0 weight 0 1 1 1"]);
}

#[test]
fn a_pool_far_from_the_nic_gets_queues_that_rss_does_not_use() {
    let plan = planned(&roomy(4, 16), vec![served(6379, Pool::Remote, false)]).unwrap();
    assert_eq!(lines(&plan, "ethtool -L"), ["ethtool -L eth0 combined 8"]);
    let near: Vec<u32> = irqs(&plan)
        .into_iter()
        .filter(|(_, cpu)| cpus("8-15").contains(cpu.parse().unwrap()))
        .map(|(queue, _)| queue)
        .collect();
    assert_eq!(near, [1, 2, 3, 4]);
    assert_eq!(
        lines(&plan, "ethtool -X"),
        ["ethtool -X eth0 weight 0 1 1 1 1", "ethtool -X eth0 context new weight 1 0 0 0 0 1 1 1"]
    );
    assert_eq!(
        lines(&plan, "ethtool -N")[0],
        "ethtool -N eth0 flow-type tcp4 dst-port 6379 context N  # the one of the queues 0,5-7"
    );
}

#[test]
fn without_further_tables_ports_take_turns_on_the_queues_of_a_pool() {
    let ports = [80, 443].map(|port| served(port, on("8-11"), false)).to_vec();
    let plan = planned(&nic(4, 4), ports).unwrap();
    assert_eq!(
        lines(&plan, "ethtool -N"),
        [
            "ethtool -N eth0 flow-type tcp4 dst-port 80 queue 0",
            "ethtool -N eth0 flow-type tcp6 dst-port 80 queue 0",
            "ethtool -N eth0 flow-type tcp4 dst-port 443 queue 3",
            "ethtool -N eth0 flow-type tcp6 dst-port 443 queue 3",
        ]
    );
    assert_eq!(
        plan.notes[0],
        "it has no further RSS tables: packets to tcp/80 go to one queue of 2"
    );
}

#[test]
fn a_queue_leaves_its_cpu_if_a_pool_has_none_otherwise() {
    let mut state = nic(4, 4);
    state.channels = None;
    for (irq, cpu) in state.irqs.iter_mut().zip(["8", "10", "12", "14"]) {
        irq.asked = cpus(cpu);
    }
    let plan = planned(&state, vec![served(443, on("2"), false)]).unwrap();
    assert_eq!(irqs(&plan), [(3, "2".to_owned())]);
}

#[test]
fn what_cannot_be_is_refused() {
    let ports = || vec![served(443, on("10-11"), false)];
    let refused = |state: &NicState, ports| planned(state, ports).unwrap_err();
    assert!(refused(&nic(4, 4), Vec::new()).starts_with("no policy file has a rule with ports"));
    let all = vec![served(443, Pool::NicLocal, true)];
    assert!(refused(&nic(4, 4), all).contains("take all its queues"));
    let three = [(1, "8"), (2, "2"), (3, "4")].map(|(port, cpu)| served(port, on(cpu), false));
    assert!(
        refused(&nic(2, 2), three.into()).contains("too few queues for one in the pool of tcp/3")
    );
    assert!(
        refused(&nic(4, 4), vec![served(1, on("99"), false)]).contains("\"99\" of tcp/1 is online")
    );
    let ntuple = Some(Feature { on: false, fixed: true });
    let fixed = NicState { ntuple, ..nic(4, 4) };
    assert_eq!(refused(&fixed, ports()), "its driver takes no ntuple filters (fixed off)");
    let packets = Match { port: ports()[0].port, v6: false };
    let drops = NicState { port_rules: vec![PortRule { packets, queues: None }], ..nic(4, 4) };
    assert!(refused(&drops, ports()).contains("for the packets tcp4 443 that drops them"));
}

#[test]
fn a_pool_that_cannot_be_does_not_take_the_mode_from_others() {
    let ports = vec![served(1, on("99"), false), served(443, on("10"), false)];
    let plan = planned(&nic(4, 4), ports).unwrap();
    assert_eq!(lines(&plan, "ethtool -N").len(), 2);
    assert!(plan.notes[0].contains("\"99\" of tcp/1 is online"), "{:?}", plan.notes);
}

#[test]
fn packets_of_a_wide_pool_stay_off_an_exclusive_one() {
    let ports = vec![served(80, Pool::NicLocal, false), served(6379, on("8-11"), true)];
    let plan = planned(&roomy(4, 4), ports).unwrap();
    assert!(
        lines(&plan, "ethtool -N")
            .iter()
            .all(|line| line.ends_with("of the queues 0,2") || line.ends_with("of the queues 1,3")),
        "{:?}",
        lines(&plan, "ethtool -N")
    );
}

#[test]
fn a_rule_before_is_known_and_goes_back() {
    let packets = Match { port: Port { protocol: Protocol::Tcp, number: 443 }, v6: false };
    let queues = Some([3].into_iter().collect());
    let state = NicState { port_rules: vec![PortRule { packets, queues }], ..nic(4, 4) };
    let plan = planned(&state, vec![served(443, on("10-11"), false)]).unwrap();
    let rule = plan.changes.iter().find(|change| change.setting.what == What::Rule(packets));
    let undo = rule.unwrap().undo.as_deref();
    assert_eq!(undo, Some("ethtool -N eth0 flow-type tcp4 dst-port 443 queue 3"));
}

proptest! {
    /// Whatever the NIC and the pools: packets to a port go to CPUs of its pool, others near the NIC
    /// and to no exclusive pool, and a host that has done what the plan says needs no other.
    #[test]
    fn a_plan_is_sound_and_final(
        queues in 1u32..12,
        more in 0u32..12,
        further in any::<bool>(),
        pools in proptest::collection::vec((0u32..15, 1u32..6, any::<bool>()), 1..5),
    ) {
        let state = if further { roomy(queues, queues + more) } else { nic(queues, queues + more) };
        let pool = |(first, count, _): &(u32, u32, bool)| -> CpuSet {
            (*first..(first + count).min(16)).collect()
        };
        let port = |(nth, it): (u16, &(u32, u32, bool))| served(nth, Pool::Cpus(pool(it)), it.2);
        let ports: Vec<PortPool> = (1u16..).zip(&pools).map(port).collect();
        let Ok(plan) = planned(&state, ports.clone()) else { return Ok(()) };
        let after = carried_out(state, &plan);
        let cpu = |queue: u32| after.irqs[queue as usize].asked.first().unwrap();
        for rule in &after.port_rules {
            let own = pool(&pools[usize::from(rule.packets.port.number) - 1]);
            let queues: Queues = rule.queues.unwrap();
            prop_assert!(!queues.is_empty());
            for queue in queues.iter() {
                let mut exclusive = pools.iter().filter(|it| it.2).map(&pool);
                let first = exclusive.find(|it| it.contains(cpu(queue)));
                prop_assert!(first.is_none_or(|first| first == own), "of another pool");
                prop_assert!(own.contains(cpu(queue)), "{} on CPU {}", rule.packets, cpu(queue));
            }
        }
        let skipped = plan.notes.iter().filter(|note| note.starts_with("no CPU of the pool"));
        prop_assert_eq!(after.port_rules.len(), 2 * (pools.len() - skipped.count()));
        for queue in after.rss_table.clone().unwrap() {
            prop_assert!(cpus("8-15").contains(cpu(queue)));
            let taken = pools.iter().filter(|it| it.2).any(|it| pool(it).contains(cpu(queue)));
            prop_assert!(!taken, "queue {queue}");
        }
        let again = planned(&after, ports).unwrap().changes;
        prop_assert!(again.is_empty(), "{:?}", again);
    }
}
