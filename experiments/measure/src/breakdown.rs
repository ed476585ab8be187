//! Shares of the busy time by category, from samples. The categories are those of the
//! host-network-stack paper, section 2, Table 1; the paper's figures 3(c), 3(d) and others show the
//! same shares.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::Record;
use super::sampler::{HZ, Trigger};
use super::stack::{Classifier, Work};
use super::symbol_map::{Category, Context};

/// Unclassified functions in a report.
const TOP: usize = 10;

/// The busy time by what it was spent on. `user` and the totals in `kernel` sum to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Breakdown {
    /// The event that triggers a sample: `cycles`, or `cpu-clock` if the CPU has no cycle counter.
    pub event: String,
    /// Requested samples per second and CPU.
    pub hz: u64,
    /// Samples of busy time. All shares are shares of these.
    pub samples: u64,
    /// Samples that were lost because the ring buffer was full.
    pub lost: u64,
    /// Share of user space.
    pub user: f64,
    /// The kernel, by category. `unclassified` has the stacks without a function that the map
    /// knows.
    pub kernel: IndexMap<String, Share>,
    /// The most frequent leaf functions of unclassified stacks.
    pub top_unclassified: Vec<Unclassified>,
}

/// A category's share of the busy time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// In all contexts.
    pub total: f64,
    /// In thread context: system calls, faults, kernel threads.
    pub process: f64,
    /// In softirq.
    pub softirq: f64,
    /// In hardware interrupts.
    pub irq: f64,
}

/// A function that the map does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unclassified {
    /// Its name.
    pub symbol: String,
    /// Its share of the busy time.
    pub share: f64,
}

/// Adds up samples, weighted by the time or cycles that each stands for.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Samples of busy time.
    samples: u64,
    /// Samples that were lost because the ring buffer was full.
    lost: u64,
    /// How often the kernel paused a sampler.
    throttled: u64,
    user: u64,
    kernel: BTreeMap<(Option<Category>, Context), u64>,
    unclassified: HashMap<Option<usize>, u64>,
}

impl Tally {
    /// Adds a record.
    pub(crate) fn add(&mut self, record: Record, classifier: &mut Classifier) {
        match record {
            Record::User { weight } => {
                self.samples += 1;
                self.user += weight;
            }
            Record::Kernel { weight, stack } => match classifier.classify(&stack) {
                Work::Idle => {}
                Work::Busy(context, category) => {
                    self.samples += 1;
                    *self.kernel.entry((category.ok(), context)).or_default() += weight;
                    if let Err(leaf) = category {
                        *self.unclassified.entry(leaf).or_default() += weight;
                    }
                }
            },
            Record::Lost(count) => self.lost += count,
            Record::Throttled => self.throttled += 1,
            Record::Other => {}
        }
    }

    /// Whether the kernel paused a sampler.
    pub(crate) fn was_throttled(&self) -> bool {
        self.throttled > 0
    }

    /// The shares. `None` without a sample of busy time.
    pub(crate) fn breakdown(&self, trigger: Trigger, names: &Classifier) -> Option<Breakdown> {
        use Category::*;
        let busy = self.user + self.kernel.values().sum::<u64>();
        if busy == 0 {
            return None;
        }
        let share = |weight: u64| weight as f64 / busy as f64;
        let kernel = [
            ("data_copy", Some(DataCopy)),
            ("tcp_ip", Some(TcpIp)),
            ("netdevice", Some(Netdevice)),
            ("skb", Some(Skb)),
            ("memory", Some(Memory)),
            ("lock", Some(Lock)),
            ("scheduling", Some(Scheduling)),
            ("others", Some(Others)),
            ("unclassified", None),
        ];
        let kernel = kernel.map(|(name, category)| {
            let weight = |context| self.kernel.get(&(category, context)).copied().unwrap_or(0);
            let [process, softirq, irq] =
                [Context::Process, Context::Softirq, Context::Irq].map(weight);
            let shares = Share {
                total: share(process + softirq + irq),
                process: share(process),
                softirq: share(softirq),
                irq: share(irq),
            };
            (name.to_string(), shares)
        });
        let mut top: Vec<_> = self
            .unclassified
            .iter()
            .map(|(id, weight)| Unclassified {
                symbol: names.name(*id).into(),
                share: share(*weight),
            })
            .collect();
        top.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.symbol.cmp(&b.symbol)));
        top.truncate(TOP);
        Some(Breakdown {
            event: trigger.name().into(),
            hz: HZ,
            samples: self.samples,
            lost: self.lost,
            user: share(self.user),
            kernel: IndexMap::from(kernel),
            top_unclassified: top,
        })
    }
}

/// The paper's name of a category (section 2, Table 1).
pub fn title(name: &str) -> &str {
    match name {
        "data_copy" => "data copy",
        "tcp_ip" => "TCP/IP",
        "netdevice" => "netdevice subsystem",
        "skb" => "skb management",
        "memory" => "memory de-/allocation",
        "lock" => "lock/unlock",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::kallsyms::Symbols;
    use super::super::symbol_map::SymbolMap;
    use super::*;
    use proptest::prelude::*;

    fn classifier() -> Classifier {
        let names = "1000 t _copy_to_iter\n2000 t tcp_v4_rcv\n3000 t handle_softirqs\n\
            4000 t unheard_of\n5000 t default_idle\n6000 t sysvec_apic_timer_interrupt\n7000 d end\n";
        Classifier::new(Symbols::parse(names).unwrap(), SymbolMap::built_in().unwrap(), true)
    }

    #[test]
    fn contexts_are_kept_apart_and_idle_is_no_part() {
        let mut names = classifier();
        let mut tally = Tally::default();
        for (weight, stack) in [
            (30, vec![0x1000]),
            (20, vec![0x2000, 0x3000, 0x1000]),
            (10, vec![0x4000, 0x3000]),
            (900, vec![0x5000]),
        ] {
            tally.add(Record::Kernel { weight, stack }, &mut names);
        }
        tally.add(Record::User { weight: 40 }, &mut names);
        tally.add(Record::Lost(5), &mut names);
        let breakdown = tally.breakdown(Trigger::Clock, &names).unwrap();
        assert_eq!((breakdown.samples, breakdown.lost, breakdown.user), (4, 5, 0.4));
        let share = |name: &str| breakdown.kernel[name];
        assert_eq!((share("data_copy").total, share("data_copy").process), (0.3, 0.3));
        assert_eq!((share("tcp_ip").total, share("tcp_ip").softirq), (0.2, 0.2));
        assert_eq!(share("unclassified").total, 0.1);
        let top = [Unclassified { symbol: "unheard_of".into(), share: 0.1 }];
        assert_eq!(breakdown.top_unclassified, top);
        assert!(!tally.was_throttled());
    }

    #[test]
    fn idle_cpus_have_no_shares() {
        let mut names = classifier();
        let mut tally = Tally::default();
        tally.add(Record::Kernel { weight: 1, stack: vec![0x5000] }, &mut names);
        assert_eq!(tally.breakdown(Trigger::Clock, &names), None);
    }

    proptest! {
        /// For any samples, all shares sum to 1, and the contexts of a category sum to its total.
        #[test]
        fn shares_sum_to_one(
            samples in prop::collection::vec(
                (1u64..1 << 40, prop::collection::vec(0x1000u64..0x8000, 0..6), any::<bool>()),
                1..200,
            ),
        ) {
            let mut names = classifier();
            let mut tally = Tally::default();
            for (weight, stack, in_user) in samples {
                let record = match in_user {
                    true => Record::User { weight },
                    false => Record::Kernel { weight, stack },
                };
                tally.add(record, &mut names);
            }
            if let Some(breakdown) = tally.breakdown(Trigger::Clock, &names) {
                let kernel: f64 = breakdown.kernel.values().map(|share| share.total).sum();
                prop_assert!((breakdown.user + kernel - 1.0).abs() < 1e-9);
                for share in breakdown.kernel.values() {
                    let parts = share.process + share.softirq + share.irq;
                    prop_assert!((share.total - parts).abs() < 1e-9);
                }
            }
        }
    }
}
