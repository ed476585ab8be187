//! Checks that the map matches its own examples.

use std::collections::BTreeSet;

use super::*;

fn file() -> File {
    toml::from_str(BUILT_IN).unwrap()
}

fn category(function: &str) -> Option<Category> {
    match SymbolMap::built_in().unwrap().meaning(function).class {
        Some(Class::Work(category)) => Some(category),
        _ => None,
    }
}

/// Every pattern is used. A plain name is the first pattern to match itself. A pattern with `*` is
/// the first to match one of its group's examples. Every example has a pattern.
#[test]
fn every_pattern_matches_something_it_names() {
    let groups = file().groups;
    let entries: Vec<(usize, &String)> = groups
        .iter()
        .enumerate()
        .flat_map(|(index, group)| group.patterns.iter().map(move |pattern| (index, pattern)))
        .collect();
    let first =
        Ordered::new(entries.iter().enumerate().map(|(at, (_, text))| (*text, at))).unwrap();
    let mut used = BTreeSet::new();
    for (index, group) in groups.iter().enumerate() {
        let names = group.patterns.iter().filter(|pattern| !pattern.contains('*'));
        for name in names.chain(&group.examples) {
            let at = first.first(name).unwrap_or_else(|| panic!("nothing matches {name}"));
            assert_eq!(entries[at].0, index, "{name} belongs to {}", entries[at].1);
            used.insert(at);
        }
    }
    let unused: Vec<_> = (0..entries.len()).filter(|at| !used.contains(at)).collect();
    let unused: Vec<_> = unused.into_iter().map(|at| entries[at].1).collect();
    assert!(unused.is_empty(), "no example, or hidden by an earlier pattern: {unused:?}");
}

#[test]
fn patterns_use_no_other_wildcard_and_no_suffix() {
    let File { contexts, groups } = file();
    let all = groups.iter().flat_map(|group| &group.patterns);
    for pattern in all.chain(&contexts.softirq).chain(&contexts.irq).chain(&contexts.process) {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '*';
        assert!(pattern.chars().all(plain), "{pattern}");
    }
}

#[test]
fn every_category_has_functions() {
    use Category::*;
    for (function, expected) in [
        ("_copy_to_iter", DataCopy),
        ("tcp_v4_rcv", TcpIp),
        ("__netif_receive_skb_core.constprop.0", Netdevice),
        ("skb_release_data", Skb),
        ("kmem_cache_alloc_node_noprof", Memory),
        ("native_queued_spin_lock_slowpath", Lock),
        ("finish_task_switch.isra.0", Scheduling),
        ("enqueue_task_scx", Scheduling),
        ("sysvec_apic_timer_interrupt", Others),
    ] {
        assert_eq!(category(function), Some(expected), "{function}");
    }
}

/// Functions whose names also match a broader pattern of another group.
#[test]
fn the_order_decides() {
    use Category::*;
    for (function, expected) in [
        ("tcp_gro_receive", Netdevice),
        ("tcp_stream_alloc_skb", Skb),
        ("sock_def_readable", Scheduling),
        ("lock_sock_nested", Lock),
        ("release_sock", Lock),
        ("__release_sock", TcpIp),
        ("skb_copy_datagram_iter", DataCopy),
        ("napi_consume_skb", Skb),
        ("rcu_read_unlock_special", Lock),
    ] {
        assert_eq!(category(function), Some(expected), "{function}");
    }
}

#[test]
fn contexts_begin_where_the_file_says() {
    let map = SymbolMap::built_in().unwrap();
    for (function, expected) in [
        ("handle_softirqs", Some(Context::Softirq)),
        ("sysvec_apic_timer_interrupt", Some(Context::Irq)),
        ("irqentry_exit", Some(Context::Process)),
        ("tcp_v4_rcv", None),
    ] {
        assert_eq!(map.meaning(function).context, expected, "{function}");
    }
    assert!(map.meaning("do_syscall_64").leaf_only);
    assert!(!map.meaning("tcp_v4_rcv").leaf_only);
}

#[test]
fn a_mistake_in_the_map_is_named() {
    let bad = BUILT_IN.replacen("class = \"lock\"", "class = \"locks\"", 1);
    assert!(SymbolMap::parse(&bad).is_err());
    let bad = BUILT_IN.replacen("leaf_only = true", "leaf = true", 1);
    assert!(format!("{:#}", SymbolMap::parse(&bad).err().unwrap()).contains("leaf"));
}
